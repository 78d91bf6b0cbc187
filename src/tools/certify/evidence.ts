import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';
import { SAMPLE_CARDS } from '../../card/sample-tap.ts';
import { csvLine } from '../../console/transactions-csv.ts';
import { reportOf } from './evidence-report.ts';
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
