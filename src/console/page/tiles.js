import { byId, count, h, keepInStep, ms, rate, setText, sum } from './dom.js';
import { groupOutcomes } from './outcomes.js';

/** @typedef {import('./live.js').Frame} Frame */

const compact = new Intl.NumberFormat(undefined, { notation: 'compact' });
/**
 * A tile has little space; the tables show exact figures.
 *
 * @param {number} value
 */
const few = (value) => (value < 100_000 ? count(value) : compact.format(value));

/**
 * The present figures.
 *
 * @param {Frame} frame
 */
export function showTiles({ taps, outcomes, backlog, commits }) {
  const groups = groupOutcomes(outcomes);
  const [total, approved] = [sum(groups, (group) => group.total), sum(groups, (group) => group.approved)];
  const owed = backlog ? sum(backlog.owed, ({ reversalsOwed }) => reversalsOwed) : 0;
  const review = backlog ? sum(backlog.owed, ({ needsReview }) => needsReview) : 0;
  const pending = backlog ? sum(backlog.webhooks, (endpoint) => endpoint.pending) : 0;
  const dead = backlog?.deadLetters.length ?? 0;
  // For an acquirer the figures contain the responses of its switches, not the times of phones.
  const latency = taps.failedPerSecond === null ? 'Round trip' : 'Latency';
  /** @type {Tile[]} */
  const tiles = [
    { name: 'Taps/s', value: rate(taps.perSecond) },
    { name: `${latency} p50`, value: ms(taps.p50), unit: 'ms' },
    { name: `${latency} p99`, value: ms(taps.p99), unit: 'ms' },
    { name: 'Approved', value: total === 0 ? '–' : rate((approved / total) * 100), unit: total === 0 ? '' : '%' },
    { name: 'Undecided/s', value: rate(taps.undecidedPerSecond), mark: taps.undecidedPerSecond > 0 && 'warn' },
    ...(taps.failedPerSecond === null
      ? []
      : [{ name: 'Failed/s', value: rate(taps.failedPerSecond), mark: taps.failedPerSecond > 0 && 'bad' }]),
    { name: 'Reversals', value: few(owed), unit: 'open', mark: owed > 0 && 'warn' },
    { name: 'Needs review', value: few(review), mark: review > 0 && 'bad' },
    { name: 'Webhooks', value: few(pending), unit: 'due', mark: pending > 1_000 && 'warn' },
    { name: 'Dead letters', value: dead >= 100 ? '100+' : count(dead), mark: dead > 0 && 'bad' },
    ...(commits ? [{ name: 'Commit p99', value: ms(commits.p99), unit: 'ms' }] : []),
  ];
  // What is wrong comes first. What counts faults and has none is one small line.
  const zeros = tiles.filter(({ mark }) => mark === false);
  const others = tiles.filter(({ mark }) => mark !== false);
  drawTiles(byId('tiles'), [...others.filter(({ mark }) => mark), ...others.filter(({ mark }) => !mark)]);
  drawTiles(byId('zeros'), zeros);
}

/** @typedef {{ name: string, value: string, unit?: string, mark?: string | false }} Tile */

/**
 * @param {HTMLElement} place
 * @param {readonly Tile[]} tiles
 */
function drawTiles(place, tiles) {
  keepInStep(
    place,
    tiles,
    ({ name }) => name,
    ({ name }) => {
      const value = h('b');
      const unit = h('small');
      const element = h('div', {}, h('dt', {}, name), h('dd', {}, value, ' ', unit));
      return {
        element,
        update(tile) {
          setText(value, tile.value);
          setText(unit, tile.unit ?? '');
          element.className = tile.mark || '';
        },
      };
    },
  );
}
