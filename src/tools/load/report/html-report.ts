import type { LoadResult } from '#schemas/load-result';
import { escapeHtml } from '../../../codecs/bytes/escape-html.ts';
import type { LoadRecord } from '../load-run.ts';
import type { MachineSample } from '../machine-watch.ts';
import type { Threshold } from '../thresholds.ts';
import { chartFigure } from './chart.ts';
import { chartsOfTest } from './charts-of-test.ts';
import { REPORT_SCRIPT } from './report-script.ts';
import { REPORT_STYLE } from './report-style.ts';

/** The conditions for the test, and those that it failed, in words. */
export interface Verdict {
  readonly thresholds: readonly Pick<Threshold, 'text'>[];
  readonly failed: readonly string[];
}

/** A load test as one self-contained page: no network access, no other files. */
export function htmlReport(
  result: LoadResult,
  record: LoadRecord,
  samples: readonly MachineSample[],
  verdict: Verdict,
): string {
  const { plan, machine, startedAt } = result;
  const title = `Load test of ${plan.target}`;
  const charts = chartsOfTest(record, samples).map(chartFigure).join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${REPORT_STYLE}</style></head>
<body><main>
<h1>${escapeHtml(title)}</h1>
<p class="sub">${escapeHtml(`${startedAt.replace('T', ' ').replace(/\..*/, '')} UTC · ${planInWords(plan)} · ${machine}`)}</p>
${notesOf(result, verdict)}
<ul class="tiles">${tilesOf(result)}</ul>
<div class="charts">
${charts}
</div>
${scenarioSection(result)}
${stepSection(result)}
<footer>${escapeHtml(`Seed ${plan.seed}. A call is what one client does: a tap, a tap with its PIN, a link from its making to its payment, a query. Its latency counts from the moment it was due. ${result.ledger.description}.`)}</footer>
</main><script>${REPORT_SCRIPT}</script></body></html>
`;
}

function planInWords({
  arrivals,
  perSecond,
  durationSeconds,
  phones,
  connections,
  isNewEach,
}: LoadResult['plan']): string {
  const lines = isNewEach ? 'a connection for each request' : `${connections} connections kept`;
  return `${arrivals}, ${perSecond} a second for ${durationSeconds} s · ${phones} phones, ${lines}`;
}

function notesOf({ generator, endedBy, ledger }: LoadResult, { thresholds, failed }: Verdict): string {
  const demanded = thresholds.map(({ text }) => text).join(', ');
  const notes = [
    failed.length > 0 && ['bad', `Failed: ${failed.join('; ')}.`],
    failed.length === 0 && demanded !== '' && ['good', `Passed: ${demanded} did not occur.`],
    ledger.ok === false && ['bad', `The ledger is not ok. ${[ledger.description, ...ledger.violations].join('; ')}`],
    generator.isLimit && ['warn', `The generator may have been the limit: ${generator.description.join('; ')}.`],
    endedBy === 'signal' && ['', 'The test was stopped by hand before its end.'],
  ].filter((note) => note !== false);
  return notes.map(([kind = '', text = '']) => `<p class="note ${kind}">${escapeHtml(text)}</p>`).join('');
}

function tilesOf(result: LoadResult): string {
  const { perSecond, answered, p50Ms, p99Ms, errors, lost, unsent, sent, ledger } = result;
  const failed = errors + lost + unsent;
  const share = sent + unsent === 0 ? 0 : (100 * failed) / (sent + unsent);
  const books = { word: ledger.ok === null ? 'none' : ledger.ok ? 'ok' : 'NOT OK', tone: toneOf(ledger.ok) };
  return [
    tile(Math.round(perSecond).toLocaleString('en'), 'answered per second'),
    tile(answered.toLocaleString('en'), `answered of ${sent.toLocaleString('en')} sent`),
    tile(milliseconds(p50Ms), 'p50'),
    tile(milliseconds(p99Ms), 'p99'),
    tile(
      failed === 0 ? '0' : `${failed.toLocaleString('en')}`,
      `errors, lost, not sent (${share.toFixed(2)} %)`,
      failed > 0 ? 'bad' : '',
    ),
    tile(books.word, 'ledger', books.tone),
  ].join('');
}

function toneOf(isOk: boolean | null): string {
  if (isOk === null) return '';
  return isOk ? 'good' : 'bad';
}

function tile(figure: string, name: string, tone = ''): string {
  return `<li><b class="${tone}">${escapeHtml(figure)}</b><span>${escapeHtml(name)}</span></li>`;
}

function scenarioSection({ scenarios }: LoadResult): string {
  const heads = ['Scenario', 'Answered', 'p50', 'p90', 'p99', 'p99.9', 'max', 'Unexpected', 'Outcomes'];
  const rows = Object.entries(scenarios).map(([name, each]) => {
    const latencies = [each.p50Ms, each.p90Ms, each.p99Ms, each.p999Ms, each.maxMs].map(milliseconds);
    const outcomes = Object.entries(each.outcomes).map(([outcome, count]) => `${count} ${outcome}`);
    const cells = [String(each.answered), ...latencies, String(each.unexpected)].map(
      (cell) => `<td>${escapeHtml(cell)}</td>`,
    );
    return `<tr><th scope="row">${escapeHtml(name)}</th>${cells.join('')}<td>${escapeHtml(outcomes.join(', '))}</td></tr>`;
  });
  return `<section><h2>Scenarios</h2><div class="scroll">${table(heads, rows)}</div></section>`;
}

function stepSection({ steps }: LoadResult): string {
  if (steps.length === 0) return '';
  const rows = steps.map(({ perSecond, answeredPerSecond, p99Ms, broke }) => {
    const cells = [answeredPerSecond.toFixed(0), milliseconds(p99Ms), broke ?? 'held'];
    return `<tr><th scope="row">${perSecond}/s</th>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`;
  });
  return `<section><h2>Steps</h2><div class="scroll">${table(['Due', 'Answered a second', 'p99', ''], rows)}</div></section>`;
}

function table(heads: readonly string[], rows: readonly string[]): string {
  const head = heads.map((each) => `<th scope="col">${each}</th>`).join('');
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${Number(ms.toPrecision(3))} ms`;
}
