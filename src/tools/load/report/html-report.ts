import type { LoadResult } from '#schemas/load';
import { html, type Markup } from '../../../http/docs/html.ts';
import type { LoadRecord } from '../load-run.ts';
import type { MachineSample } from '../machine-watch.ts';
import type { Threshold } from '../thresholds.ts';
import { chartFigure, tableMarkup } from './chart.ts';
import { chartsOfTest } from './charts-of-test.ts';

/** The interactive part of the report: the figures under the pointer. Charts and tables are complete without it. */
const REPORT_SCRIPT = `
for (const plot of document.querySelectorAll('.plot')) {
  const { x, time, rows } = JSON.parse(plot.dataset.chart);
  const svg = plot.querySelector('svg'), cursor = plot.querySelector('.cursor'), tip = plot.querySelector('.tip');
  plot.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    let nearest = 0;
    x.forEach((each, index) => { if (Math.abs(each - at) < Math.abs(x[nearest] - at)) nearest = index; });
    cursor.setAttribute('x1', x[nearest]);
    cursor.setAttribute('x2', x[nearest]);
    tip.replaceChildren(Object.assign(document.createElement('b'), { textContent: time[nearest] }));
    for (const { name, colour, values } of rows) {
      const line = document.createElement('div'), mark = document.createElement('i');
      mark.style.background = 'var(' + colour + ')';
      line.append(mark, name + '  ' + values[nearest]);
      tip.append(line);
    }
    tip.hidden = false;
    const left = (x[nearest] / svg.viewBox.baseVal.width) * box.width;
    tip.style.left = (left > box.width / 2 ? left - tip.offsetWidth - 12 : left + 12) + 'px';
  });
  plot.addEventListener('pointerleave', () => { tip.hidden = true; });
}
`;

/**
 * The style sheet of the report, dark and light. People who confuse red and green can distinguish the colours in both.
 */
const REPORT_STYLE = `
:root{color-scheme:light dark;--page:#f6f6f4;--card:#fff;--line:#e4e3df;--ink:#191918;--ink2:#5d5c57;--muted:#a09f99;
--c1:#2a78d6;--c2:#1baf7a;--c3:#eda100;--c4:#e34948;--c5:#4a3aa7;--c6:#e87ba4;--c7:#008300;--c8:#8a8983;
--o1:#6ea6e8;--o2:#2a78d6;--o3:#17437d;--o4:#c9c7c0;--good:#0b7a3e;--bad:#c22f2f;--warn:#8a5a00}
@media (prefers-color-scheme:dark){:root{--page:#121211;--card:#1b1b1a;--line:#33322f;--ink:#f3f2ee;--ink2:#b5b3ab;--muted:#7d7c76;
--c1:#3987e5;--c2:#199e70;--c3:#c98500;--c4:#e66767;--c5:#9085e9;--c6:#d55181;--c7:#3aa63a;--c8:#96948c;
--o1:#2f6fc0;--o2:#5fa3ee;--o3:#c2dcfb;--o4:#5a5953;--good:#4cc27f;--bad:#f08080;--warn:#e0b050}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;-webkit-font-smoothing:antialiased}
main{max-width:1200px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:26px;font-weight:650;letter-spacing:-.01em;margin:0}
h2{font-size:15px;font-weight:600;margin:0}
p{margin:0}
.sub{color:var(--ink2);margin-top:4px}
.note{margin-top:20px;padding:12px 16px;border-radius:10px;border:1px solid var(--line);background:var(--card)}
.note.good{border-color:var(--good);color:var(--good)}.note.bad{border-color:var(--bad);color:var(--bad)}.note.warn{border-color:var(--warn);color:var(--warn)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;margin:24px 0 12px;padding:0;list-style:none}
.tiles li{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 16px}
.tiles b{display:block;font-size:24px;font-weight:600;letter-spacing:-.01em;line-height:1.25}
.tiles span{color:var(--ink2);font-size:13px}
.good{color:var(--good)}.bad{color:var(--bad)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:16px;margin-top:16px}
figure,section{margin:0;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 18px 14px;min-width:0}
section{margin-top:16px}
figcaption p{color:var(--ink2);font-size:13px;min-height:3em}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;margin:8px 0 4px;padding:0;font-size:13px;color:var(--ink2)}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.plot{position:relative}
svg{display:block;width:100%;height:auto;overflow:visible}
.grid{stroke:var(--line);stroke-width:1}
.tick{fill:var(--ink2);font-size:11px;font-variant-numeric:tabular-nums}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.area{stroke:var(--card);stroke-width:1}
.cursor{stroke:var(--ink2);stroke-width:1;stroke-dasharray:3 3;opacity:0}
.plot:hover .cursor{opacity:1}
.tip{position:absolute;top:8px;pointer-events:none;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 10px;font-size:12px;box-shadow:0 4px 16px #0002;white-space:nowrap;z-index:1}
.tip b{display:block;margin-bottom:2px}.tip i{display:inline-block;width:8px;height:8px;border-radius:2px;margin-right:6px}
details{margin-top:8px;font-size:13px}summary{cursor:pointer;color:var(--ink2)}
.scroll{overflow-x:auto;max-height:320px;overflow-y:auto;margin-top:8px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--ink2);padding-bottom:6px}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child{text-align:left;font-weight:500}th{font-weight:500;color:var(--ink2)}
section :is(th,td):last-child{text-align:left;white-space:normal}
footer{color:var(--ink2);font-size:13px;margin-top:24px}
:focus-visible{outline:2px solid var(--c1);outline-offset:2px;border-radius:4px}
@media print{body{background:#fff}.charts{grid-template-columns:1fr 1fr}}
`;

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
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><style>${{ markup: REPORT_STYLE }}</style></head>
<body><main>
<h1>${title}</h1>
<p class="sub">${startedAt.replace('T', ' ').replace(/\..*/, '')} UTC · ${planInWords(plan)} · ${machine}</p>
${notesOf(result, verdict)}
<ul class="tiles">${tilesOf(result)}</ul>
<div class="charts">
${chartsOfTest(record, samples).map(chartFigure)}
</div>
${scenarioSection(result)}
${stepSection(result)}
<footer>Seed ${plan.seed}. A call is what one client does: a tap, a tap with its PIN, a link from its making to its payment, a query. Its latency counts from the moment it was due. ${result.ledger.description}.</footer>
</main><script>${{ markup: REPORT_SCRIPT }}</script></body></html>
`.markup;
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

function notesOf({ generator, endedBy, ledger }: LoadResult, { thresholds, failed }: Verdict): readonly Markup[] {
  const demanded = thresholds.map(({ text }) => text).join(', ');
  const notes = [
    failed.length > 0 && ['bad', `Failed: ${failed.join('; ')}.`],
    failed.length === 0 && demanded !== '' && ['good', `Passed: ${demanded} did not occur.`],
    ledger.ok === false && ['bad', `The ledger is not ok. ${[ledger.description, ...ledger.violations].join('; ')}`],
    generator.isLimit && ['warn', `The generator may have been the limit: ${generator.description.join('; ')}.`],
    endedBy === 'signal' && ['', 'The test was stopped by hand before its end.'],
  ].filter((note) => note !== false);
  return notes.map(([kind = '', text = '']) => html`<p class="note ${kind}">${text}</p>`);
}

function tilesOf(result: LoadResult): readonly Markup[] {
  const { perSecond, responded, p50Ms, p99Ms, errors, lost, unsent, sent, ledger } = result;
  const failed = errors + lost + unsent;
  const share = sent + unsent === 0 ? 0 : (100 * failed) / (sent + unsent);
  const books = { word: ledger.ok === null ? 'none' : ledger.ok ? 'ok' : 'NOT OK', tone: toneOf(ledger.ok) };
  return [
    tile(Math.round(perSecond).toLocaleString('en'), 'responses per second'),
    tile(responded.toLocaleString('en'), `responses to ${sent.toLocaleString('en')} sent`),
    tile(milliseconds(p50Ms), 'p50'),
    tile(milliseconds(p99Ms), 'p99'),
    tile(failed.toLocaleString('en'), `errors, lost, not sent (${share.toFixed(2)} %)`, failed > 0 ? 'bad' : ''),
    tile(books.word, 'ledger', books.tone),
  ];
}

function toneOf(isOk: boolean | null): string {
  if (isOk === null) return '';
  return isOk ? 'good' : 'bad';
}

function tile(figure: string, name: string, tone = ''): Markup {
  return html`<li><b class="${tone}">${figure}</b><span>${name}</span></li>`;
}

function scenarioSection({ scenarios }: LoadResult): Markup {
  const heads = ['Scenario', 'Responses', 'p50', 'p90', 'p99', 'p99.9', 'max', 'Unexpected', 'Outcomes'];
  const rows = Object.entries(scenarios).map(([name, each]) => {
    const latencies = [each.p50Ms, each.p90Ms, each.p99Ms, each.p999Ms, each.maxMs].map(milliseconds);
    const outcomes = Object.entries(each.outcomes).map(([outcome, count]) => `${count} ${outcome}`);
    return [name, String(each.responded), ...latencies, String(each.unexpected), outcomes.join(', ')];
  });
  return html`<section><h2>Scenarios</h2>${tableMarkup(heads, rows)}</section>`;
}

function stepSection({ steps }: LoadResult): Markup | undefined {
  if (steps.length === 0) return undefined;
  const rows = steps.map(({ perSecond, responsesPerSecond, p99Ms, broke }) => {
    return [`${perSecond}/s`, responsesPerSecond.toFixed(0), milliseconds(p99Ms), broke ?? 'held'];
  });
  return html`<section><h2>Steps</h2>${tableMarkup(['Due', 'Responses a second', 'p99', ''], rows)}</section>`;
}

function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${Number(ms.toPrecision(3))} ms`;
}
