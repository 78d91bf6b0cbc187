import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';
import { SAMPLE_CARDS } from '../../card/sample-tap.ts';
import { csvLine } from '../../console/transactions-csv.ts';
import { html, type Markup } from '../../http/docs/html.ts';
import type { MaskedMessage, RecordedExchange } from './recording-proxy.ts';
import type { CaseResult } from './run-plan.ts';
import { type StoredRun, sha256 } from './stored-run.ts';

/**
 * The evidence of a run for the network: a report to read and print, the same results as data, and a manifest with the
 * checksum of each file, which is signed. The same run and key make the same bytes.
 */

const MANIFEST = 'manifest.json';
const SIGNATURE = 'manifest.sig';
/** ZIP has no time zone and begins in 1980; a pack has no time of its own. */
const NO_TIME = new Date(1980, 0, 1);
/** A run of 2,000 cases takes a tenth of it. */
const MAX_PACK_BYTES = 256 * 2 ** 20;

const manifest = z.strictObject({
  version: z.literal(1),
  run: z.string(),
  files: z.record(z.string(), z.string()),
});

/**
 * @param privateKey Ed25519, PEM
 * @throws StartError BAD_CONFIG if it is another key, or if the run contains a card number
 */
export function packEvidence(run: StoredRun, privateKey: string): Uint8Array {
  const files: Record<string, string> = {
    'report.html': reportOf(run),
    'results.json': `${JSON.stringify(run, null, 2)}\n`,
    'results.csv': csvOf(run.results),
    'junit.xml': junitOf(run),
  };
  for (const [name, content] of Object.entries(files)) requireNoCard(name, content);
  const sums = Object.fromEntries(Object.entries(files).map(([name, content]) => [name, sha256(content)]));
  const stated = `${JSON.stringify({ version: 1, run: run.id, files: sums }, null, 2)}\n`;
  const key = keyOf(() => createPrivateKey(privateKey), 'private');
  const signature = sign(null, Buffer.from(stated), key).toString('base64');
  const all = { ...files, [MANIFEST]: stated, [SIGNATURE]: `${signature}\n` };
  return zipSync(Object.fromEntries(Object.entries(all).map(([name, content]) => [name, strToU8(content)])), {
    mtime: NO_TIME,
  });
}

/**
 * Verifies a pack: the signature, and that it has the files of the manifest, unchanged, and no others.
 *
 * @param publicKey Ed25519, PEM, which the signer gave on another way
 * @returns what is wrong, one line each; empty if nothing is
 * @throws StartError BAD_CONFIG if it is no pack, or another key
 */
export function checkEvidence(
  pack: Uint8Array,
  publicKey: string,
): { readonly run: string; readonly faults: string[] } {
  const files = unpack(pack);
  const [stated, signature] = [files[MANIFEST], files[SIGNATURE]];
  if (stated === undefined || signature === undefined)
    throw new StartError('BAD_CONFIG', `The pack has no ${stated ? SIGNATURE : MANIFEST}.`);
  const key = keyOf(() => createPublicKey(publicKey), 'public');
  if (!verify(null, stated, key, Buffer.from(strFromU8(signature), 'base64')))
    return { run: '', faults: [`${MANIFEST}: it was not signed with the private key of this public key`] };
  const { run, files: sums } = readManifest(strFromU8(stated));
  const present = Object.keys(files).filter((name) => name !== MANIFEST && name !== SIGNATURE);
  const faults = Object.entries(sums).flatMap(([name, sum]) => {
    const content = files[name];
    if (content === undefined) return [`${name}: missing`];
    return sha256(content) === sum ? [] : [`${name}: changed after it was signed`];
  });
  const others = present.filter((name) => !Object.hasOwn(sums, name)).map((name) => `${name}: not in the manifest`);
  return { run, faults: [...faults, ...others] };
}

function readManifest(text: string): z.infer<typeof manifest> {
  try {
    return manifest.parse(JSON.parse(text));
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `${MANIFEST}: it is signed, but not in the form of this version.`, { cause });
  }
}

function unpack(pack: Uint8Array): Record<string, Uint8Array> {
  let bytes = 0;
  let entries = 0;
  try {
    const files = unzipSync(pack, {
      filter: ({ originalSize }) => {
        bytes += originalSize;
        entries++;
        if (bytes > MAX_PACK_BYTES) throw new RangeError('too large');
        return true;
      },
    });
    // Of two files with one name only the last is checked, and another program may show the first.
    if (Object.keys(files).length !== entries) throw new RangeError('a name twice');
    return files;
  } catch (cause) {
    throw new StartError(
      'BAD_CONFIG',
      'The file is not a pack of evidence: expected a ZIP file of at most 256 MiB with different names.',
      {
        cause,
      },
    );
  }
}

function keyOf(read: () => KeyObject, half: 'private' | 'public'): KeyObject {
  try {
    const key = read();
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // The error of the parser could contain parts of the key.
  }
  throw new StartError('BAD_CONFIG', `Expected a ${half} Ed25519 key in PEM: openssl genpkey -algorithm ed25519`);
}

/** In digits, and in the hex of ASCII and EBCDIC: messages are stored masked, and this is the last look before they leave. */
const CARD_FORMS = Object.values(SAMPLE_CARDS).flatMap(({ pan }) => [
  pan,
  Buffer.from(pan).toString('hex'),
  pan.replaceAll(/\d/g, 'F$&'),
]);

function requireNoCard(name: string, content: string): void {
  const text = content.toUpperCase();
  if (CARD_FORMS.some((form) => text.includes(form.toUpperCase())))
    throw new StartError('BAD_CONFIG', `${name} would contain a card number. It is not written.`);
}

const CSV_TITLES = [
  'case',
  'title',
  'result',
  'started',
  'took_ms',
  'stan',
  'rrn',
  'check',
  'expected',
  'actual',
  'met',
];

/** A line for each check of each case. */
function csvOf(results: readonly CaseResult[]): string {
  const lines = results.flatMap(({ number, title, passed, startedAt, tookMs, stan, rrn, checks }) =>
    checks.map(({ field, expected, actual, passed: isMet }) =>
      csvLine([
        ...[number, title, passed ? 'passed' : 'failed', startedAt, tookMs, stan, rrn],
        ...[field, expected, actual, isMet],
      ]),
    ),
  );
  return [csvLine(CSV_TITLES), ...lines].join('');
}

/** JUnit's form as CI servers read it: a failure for each case, with its unmet checks. */
function junitOf({ plan, results }: StoredRun): string {
  const failed = results.filter(({ passed }) => !passed).length;
  const cases = results.map(({ number, title, passed, tookMs, checks }) => {
    const head = `<testcase name="${xml(`${number} ${title}`)}" time="${(tookMs / 1_000).toFixed(3)}"`;
    if (passed) return `  ${head}/>`;
    const unmet = checks.filter((check) => !check.passed);
    const lines = unmet.map(({ field, expected, actual }) => `${field}: expected ${expected}, got ${actual}`);
    return `  ${head}><failure message="${xml(lines.join('; '))}"/></testcase>`;
  });
  const suite = `<testsuite name="${xml(plan.name)}" tests="${results.length}" failures="${failed}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${suite}\n${cases.join('\n')}\n</testsuite>\n`;
}

/** Characters that XML 1.0 (section 2.2) does not have are left out. */
function xml(text: string): string {
  const allowed = text.replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** Readable on paper as well: a case begins no page of its own, and no table row is split. */
const STYLE = `body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#111;background:#fff}
table{border-collapse:collapse;margin:.5rem 0}td,th{border:1px solid #bbb;padding:.15rem .5rem;text-align:left;vertical-align:top}
tr{break-inside:avoid}code{font:12px/1.3 ui-monospace,monospace;overflow-wrap:anywhere}.failed{color:#a00;font-weight:600}
section{border-top:1px solid #bbb;margin-top:1.5rem}`;

/** One page for people: what was run, the verdict of each case, and each message with its fields. */
function reportOf(run: StoredRun): string {
  const { plan, results, type, against, startedAt, configSha256, processorSha256, versions } = run;
  const passed = results.filter((each) => each.passed).length;
  const facts = [
    ['Run', run.id],
    ['Plan', `${plan.name}, ${plan.cases} cases, sha256 ${plan.sha256}`],
    ['Host', against],
    ['Processor type', `${type}, sha256 of its files ${processorSha256}`],
    ['Configuration', `sha256 ${configSha256}`],
    [
      'Versions',
      Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', '),
    ],
    ['Started', startedAt],
    ['Result', `${passed} passed, ${results.length - passed} failed, ${plan.cases - results.length} not run`],
  ] as const;
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Certification ${plan.name}, run ${run.id}</title><style>${{ markup: STYLE }}</style></head>
<body><h1>${plan.name}</h1>
<table>${facts.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</table>
<table><tr><th>Case</th><th>Title</th><th>Result</th><th>DE11</th><th>DE37</th><th>DE38</th><th>Took</th></tr>
${results.map(rowOf)}</table>
${results.map(sectionOf)}
</body></html>
`;
  return page.markup;
}

function verdictOf({ passed }: { readonly passed: boolean }): Markup {
  return passed ? html`passed` : html`<span class="failed">failed</span>`;
}

function rowOf(result: CaseResult): Markup {
  const { number, title, stan, rrn, authorizationCode, tookMs } = result;
  return html`<tr><td><a href="#case-${number}">${number}</a></td><td>${title}</td><td>${verdictOf(result)}</td><td>${stan}</td><td>${rrn}</td><td>${authorizationCode}</td><td>${tookMs} ms</td></tr>
`;
}

function sectionOf(result: CaseResult): Markup {
  const { number, title, startedAt, checks, exchange, followUps, receipt } = result;
  return html`<section id="case-${number}"><h2>${number} ${title}: ${verdictOf(result)}</h2><p>${startedAt}</p>
<table><tr><th>Check</th><th>Expected</th><th>Actual</th><th></th></tr>${checks.map(
    (check) =>
      html`<tr><td>${check.field}</td><td>${check.expected}</td><td>${check.actual}</td><td>${verdictOf(check)}</td></tr>`,
  )}</table>
${receipt && html`<h3>Receipt</h3><table>${Object.entries(receipt).map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</table>`}
${exchange && exchangeOf(exchange)}${followUps.map(exchangeOf)}</section>
`;
}

function exchangeOf({ from, kind, atMs, tookMs, fault, request, response }: RecordedExchange): Markup {
  const time = new Date(atMs).toISOString();
  const took = tookMs === undefined ? 'no response' : `response after ${tookMs} ms`;
  return html`<h3>${kind} from the ${from}, ${time}, ${took}${fault && html`, fault made here: ${fault}`}</h3>
${messageOf('Request', request)}${response && messageOf('Response', response)}`;
}

function messageOf(title: string, { hex, fields }: MaskedMessage): Markup {
  return html`<h4>${title}</h4><p><code>${hex ?? 'not shown: it cannot be masked'}</code></p>
<table>${fields.map(({ path, name, value, withheld }) => html`<tr><td>${path}</td><td>${name}</td><td><code>${withheld ? 'withheld' : value}</code></td></tr>`)}</table>`;
}
