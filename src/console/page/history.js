import { readHistory } from './ask.js';
import { Chart, FROM_ZERO, LOGARITHMIC, PERCENT } from './charts.js';
import { byId, count, h, ms, rate, setText, sum, table } from './dom.js';
import { processorName, whenNamesChange } from './names.js';
import { addView } from './router.js';
import { clockTime, dayTime, whenZoneChanges } from './time.js';

/** @typedef {import('./ask.js').Json<import('../history.ts').History>} History */
/** @typedef {{ approved: number, all: number }} Share */
/** @typedef {{ acquirer: string, processor: string }} Chosen */

/** `/ops/history`: what the switches did in the last minutes to days. Range and switch are in the address. */

/** @type {Record<string, string>} */
const RANGES = {
  '15m': '15 minutes',
  '1h': '1 hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
};
const FIRST = '1h';
/** Ranges in which a time is shown with its day. */
const OF_DAYS = ['24h', '7d', '30d'];
/** Processes store what they counted three times a minute. */
const LOOKED_EVERY_MS = 20_000;

let range = FIRST;
/** @type {Chosen | undefined} */
let chosen;
/** @type {History | undefined} */
let shown;
/** @type {string | undefined} The address from which the shown figures came. */
let shownFor;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let looking;
let reading = 0;
/** @type {ReturnType<typeof openCharts> | undefined} */
let charts;

export function openHistory() {
  addView({ path: /^\/ops\/history\/?$/, element: byId('history'), open, close });
  const redraw = () => shown && show(shown);
  whenZoneChanges(redraw);
  whenNamesChange(redraw);
}

/**
 * @param {string[]} _match
 * @param {URLSearchParams} query
 */
function open(_match, query) {
  const wanted = query.get('range') ?? '';
  range = Object.hasOwn(RANGES, wanted) ? wanted : FIRST;
  const [acquirer, processor] = [query.get('acquirer'), query.get('processor')];
  chosen = acquirer && processor ? { acquirer, processor } : undefined;
  const tabs = Object.entries(RANGES).map(([each, title]) =>
    h('a', { href: addressOf(each, chosen), 'data-view': true, 'aria-current': each === range && 'page' }, title),
  );
  byId('history-ranges').replaceChildren(...tabs);
  void look();
}

function close() {
  clearTimeout(looking);
  reading++;
}

/**
 * @param {string} wanted
 * @param {Chosen} [of]
 */
function addressOf(wanted, of) {
  return `/ops/history?${new URLSearchParams({ range: wanted, ...of })}`;
}

async function look() {
  clearTimeout(looking);
  looking = setTimeout(() => void look(), LOOKED_EVERY_MS);
  if (document.hidden || !document.body.classList.contains('is-in')) return;
  const mine = ++reading;
  const wanted = addressOf(range, chosen);
  try {
    const history = await readHistory(new URLSearchParams({ range, ...chosen }));
    if (mine !== reading) return;
    setText(byId('history-said'), '');
    shownFor = wanted;
    byId('history-figures').hidden = false;
    show(history);
  } catch (error) {
    if (mine !== reading) return;
    setText(byId('history-said'), error.message);
    if (shownFor !== wanted) hideFigures();
  }
}

/** Those of another range would be taken for those of this one. */
function hideFigures() {
  shown = undefined;
  shownFor = undefined;
  byId('history-figures').hidden = true;
  setText(byId('history-total'), '');
}

/**
 * Of all dispositions, `Voided` follows another one of the same tap.
 *
 * @param {Partial<Record<string, number>>} outcomes
 */
function sumsOf({ Approved = 0, Declined = 0, DeclinedOffline = 0, Indeterminate = 0, UnableToGoOnline = 0 }) {
  const [declined, undecided] = [Declined + DeclinedOffline, Indeterminate + UnableToGoOnline];
  return { approved: Approved, declined, undecided, all: Approved + declined + undecided };
}

/** @param {Share} sums */
const shareOf = ({ approved, all }) => (all === 0 ? null : (approved / all) * 100);
/** @param {number | null} share */
const percent = (share) => (share === null ? '–' : `${rate(share)} %`);

/** @param {History} history */
function show(history) {
  shown = history;
  const { points, switches, declines, spanMinutes } = history;
  charts ??= openCharts();
  const sums = points.map(({ outcomes }) => sumsOf(outcomes));
  const total = { approved: sum(sums, (each) => each.approved), all: sum(sums, (each) => each.all) };
  const seconds = points.map(({ atMs }) => atMs / 1_000);
  /** @param {(each: ReturnType<typeof sumsOf>) => number | null} of */
  const column = (of) => sums.map(of);
  charts.taps.reset([
    seconds,
    column((each) => each.approved),
    column((each) => each.declined),
    column((each) => each.undecided),
  ]);
  charts.rate.reset([seconds, column(shareOf)]);
  charts.latency.reset([
    seconds,
    .../** @type {const} */ (['p50', 'p95', 'p99']).map((key) => points.map((point) => point[key])),
  ]);
  const span = spanMinutes < 60 ? `${spanMinutes} min` : `${spanMinutes / 60} h`;
  setText(byId('past-span'), `in ${span}`);
  setText(byId('past-taps-said'), `${count(total.all)} taps in ${RANGES[range]}, ${count(total.approved)} approved`);
  setText(byId('past-rate-said'), `${percent(shareOf(total))} in ${RANGES[range]}`);
  const slowest = points.reduce((most, { p99 }) => Math.max(most, p99 ?? 0), 0);
  setText(byId('past-latency-said'), `The longest p99 of a span is ${ms(slowest)} milliseconds`);
  const of = chosen ? `, ${processorName(Number(chosen.acquirer), Number(chosen.processor))} only` : '';
  setText(
    byId('history-total'),
    total.all === 0 ? `No taps${of}` : `${count(total.all)} taps, ${percent(shareOf(total))} approved${of}`,
  );
  byId('past-switches').replaceChildren(switchTable(switches));
  byId('declines').replaceChildren(declineTable(declines));
}

/** @param {History['switches']} switches */
function switchTable(switches) {
  if (switches.length === 0) return h('p', { class: 'none' }, 'No switch had a tap in this time.');
  const rows = switches.map(({ acquirerId, processorId, outcomes, p50, p95, p99 }) => {
    const sums = sumsOf(outcomes);
    const isChosen = chosen?.acquirer === String(acquirerId) && chosen.processor === String(processorId);
    const address = addressOf(
      range,
      isChosen ? undefined : { acquirer: String(acquirerId), processor: String(processorId) },
    );
    const name = processorName(acquirerId, processorId);
    return h(
      'tr',
      {},
      h('td', {}, name),
      ...[
        count(sums.all),
        percent(shareOf(sums)),
        count(sums.declined),
        count(sums.undecided),
        ms(p50),
        ms(p95),
        ms(p99),
      ].map((text) => h('td', { class: 'n' }, text)),
      h(
        'td',
        {},
        h(
          'a',
          { href: address, 'data-view': true },
          isChosen ? 'Show all' : h('span', {}, 'Only ', h('span', { class: 'unseen' }, name), 'this'),
        ),
      ),
    );
  });
  const titles = ['Switch', 'Taps', 'Approved', 'Declined', 'Undecided', 'p50 ms', 'p95 ms', 'p99 ms'];
  return table([...titles, h('span', { class: 'unseen' }, 'Charts')], rows);
}

/** @param {History['declines']} declines */
function declineTable(declines) {
  if (declines.length === 0) return h('p', { class: 'none' }, 'No declines in this time.');
  const all = sum(declines, (each) => each.count);
  const rows = declines.map(({ code, meaning, count: declined }) =>
    h(
      'tr',
      {},
      h('td', {}, `${meaning} (${code})`),
      h('td', { class: 'n' }, count(declined)),
      h('td', { class: 'n' }, percent((declined / all) * 100)),
    ),
  );
  return table(['Reason', 'Declines', 'Share'], rows);
}

function openCharts() {
  /** @type {(plot: unknown, seconds: number[]) => string[]} */
  const labels = (_plot, seconds) => seconds.map((at) => (OF_DAYS.includes(range) ? dayTime : clockTime)(at * 1_000));
  const sparse = { labels, isSparse: true };
  const outcomes = [{ name: '--good' }, { name: '--bad' }, { name: '--warn' }];
  return {
    taps: new Chart('past-taps', outcomes, FROM_ZERO, { labels }),
    rate: new Chart('past-rate', [{ name: '--good' }], PERCENT, sparse),
    latency: new Chart('past-latency', [{ name: '--p50' }, { name: '--p95' }, { name: '--p99' }], LOGARITHMIC, sparse),
  };
}
