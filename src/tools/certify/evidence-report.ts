import { html, type Markup } from '../../http/docs/html.ts';
import type { MaskedMessage, RecordedExchange } from './recording-proxy.ts';
import type { CaseResult } from './run-plan.ts';
import type { StoredRun } from './stored-run.ts';

/** Readable on paper as well: a case begins no page of its own, and no table row is split. */
const STYLE = `body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#111;background:#fff}
table{border-collapse:collapse;margin:.5rem 0}td,th{border:1px solid #bbb;padding:.15rem .5rem;text-align:left;vertical-align:top}
tr{break-inside:avoid}code{font:12px/1.3 ui-monospace,monospace;overflow-wrap:anywhere}.failed{color:#a00;font-weight:600}
section{border-top:1px solid #bbb;margin-top:1.5rem}`;

/** One page for people: what was run, the verdict of each case, and each message with its fields. */
export function reportOf(run: StoredRun): string {
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
