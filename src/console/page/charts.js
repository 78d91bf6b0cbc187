import uPlot from '/ops/uPlot.esm.js';
import { byId } from './dom.js';
import { clockTime } from './time.js';

/** @typedef {{ scale: object, axis: object }} Measure */
/** @typedef {[seconds: number[], ...values: (number | null)[][]]} Columns */

/** A quarter of an hour with one point per second. */
const MAX_POINTS = 900;
const probe = document.body.appendChild(document.createElement('i'));
probe.hidden = true;
/**
 * A colour of the style sheet in the form that a canvas accepts, for the present light or dark scheme.
 *
 * @param {string} name
 */
function color(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
/** Fractions of a millisecond are not zero. */
const exact = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });
/**
 * @param {unknown} _plot
 * @param {number[]} seconds
 */
const times = (_plot, seconds) => seconds.map((at) => clockTime(at * 1_000));
/** @type {Chart[]} */
const charts = [];

/**
 * Milliseconds with labels at powers of ten, because typical and worst values differ by a factor of a thousand. uPlot
 * passes null for a label without space.
 */
export const LOGARITHMIC = {
  scale: {
    distr: 3,
    range: (/** @type {unknown} */ _plot, /** @type {number | null} */ low, /** @type {number | null} */ high) => [
      10 ** Math.floor(Math.log10(low ?? 1)),
      10 ** Math.ceil(Math.log10((high ?? 10) * 1.05)),
    ],
  },
  axis: {
    splits: (
      /** @type {unknown} */ _plot,
      /** @type {number} */ _axis,
      /** @type {number} */ low,
      /** @type {number} */ high,
    ) => {
      const from = Math.round(Math.log10(low));
      return Array.from({ length: Math.round(Math.log10(high)) - from + 1 }, (_, at) => 10 ** (from + at));
    },
    values: (/** @type {unknown} */ _plot, /** @type {(number | null)[]} */ ticks) =>
      ticks.map((tick) => (tick === null ? '' : exact.format(tick))),
  },
};
/** @type {(plot: unknown, low: number, high: number) => [number, number]} */
const fromZero = (_plot, _low, high) => [0, Math.max(high * 1.15, 1)];
export const FROM_ZERO = { scale: { range: fromZero }, axis: {} };

export const PERCENT = { scale: { range: () => [0, 100] }, axis: {} };

/**
 * A chart that fills its box, uses the colours of the style sheet and grows with new points.
 *
 * @param series names of colours, from left to right in each point
 * @param labels writes the times below it
 * @param isSparse whether a point may have no neighbours, so that it needs a dot
 */
export class Chart {
  /** @type {HTMLElement} */
  #box;
  /** @type {{ name: string, fill?: string }[]} */
  #series;
  /** @type {Measure} */
  #measure;
  /** @type {uPlot | undefined} */
  #plot;
  /** @type {Columns} */
  #data;
  /** @type {typeof times} */
  #labels;
  /** @type {boolean} */
  #isSparse;

  /**
   * @param {string} id
   * @param {{ name: string, fill?: string }[]} series
   * @param {Measure} measure
   * @param {{ labels?: typeof times, isSparse?: boolean }} [options]
   */
  constructor(id, series, measure, { labels = times, isSparse = false } = {}) {
    this.#box = byId(id);
    this.#series = series;
    this.#measure = measure;
    this.#labels = labels;
    this.#isSparse = isSparse;
    this.#data = [[], ...series.map(() => [])];
    this.draw();
    charts.push(this);
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(this.#box);
  }

  /** Redraws the chart in the present colours. */
  draw() {
    this.#plot?.destroy();
    const axis = {
      stroke: color('--faint'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { show: false },
      font: '12px system-ui',
    };
    this.#plot = new uPlot(
      {
        ...this.#size(),
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        padding: [10, 28, 0, 0],
        scales: { x: { time: true }, y: this.#measure.scale },
        axes: [
          { ...axis, size: 30, space: 90, values: this.#labels },
          { ...axis, size: 52, space: 36, ...this.#measure.axis },
        ],
        series: [
          {},
          ...this.#series.map(({ name, fill }) => ({
            stroke: color(name),
            width: 1.75,
            spanGaps: false,
            points: this.#isSparse ? { show: true, size: 4, fill: color(name) } : { show: false },
            ...(fill && { fill: color(fill) }),
          })),
        ],
      },
      this.#data,
      this.#box,
    );
  }

  /** @param {Columns} columns */
  reset(columns) {
    this.#data = columns;
    this.#plot?.setData(columns);
  }

  /** @param {(number | null)[]} point */
  add(point) {
    for (const [at, value] of point.entries()) {
      const column = /** @type {(number | null)[]} */ (this.#data[at]);
      column.push(value);
      if (column.length > MAX_POINTS) column.shift();
    }
    this.#plot?.setData(this.#data);
  }

  #size() {
    return { width: Math.max(200, this.#box.clientWidth), height: Math.max(140, this.#box.clientHeight) };
  }
}

/** @type {Chart | undefined} */
let rates;
/** @type {Chart | undefined} */
let latencies;

export function openCharts() {
  rates ??= new Chart('rate-chart', [{ name: '--taps', fill: '--taps-fill' }], FROM_ZERO);
  latencies ??= new Chart('latency-chart', [{ name: '--p50' }, { name: '--p95' }, { name: '--p99' }], LOGARITHMIC);
}

export function redrawCharts() {
  for (const chart of charts) chart.draw();
}

/** @param {number[][]} history */
export function resetCharts(history) {
  const column = (/** @type {number} */ at) => history.map((point) => point[at]);
  const seconds = history.map(([atMs]) => atMs / 1_000);
  rates?.reset([seconds, column(1)]);
  latencies?.reset([[...seconds], column(2), column(3), column(4)]);
}

/** @param {Pick<import('../frame.ts').Frame, 'atMs' | 'taps'>} frame */
export function addToCharts({ atMs, taps }) {
  rates?.add([atMs / 1_000, taps.perSecond]);
  latencies?.add([atMs / 1_000, taps.p50, taps.p95, taps.p99]);
}
