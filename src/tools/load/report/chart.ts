import { html, type Markup } from '../../../http/docs/html.ts';

/** The position of a chart's grid lines. */
export interface Scale {
  /** 0 at the bottom, 1 at the top. */
  readonly positionOf: (value: number) => number;
  readonly ticks: readonly number[];
}

const WANTED_TICKS = 4;
/**
 * A ratio of the largest to the typical value above this uses a logarithmic scale: on a linear one the typical value
 * would be near zero.
 */
const LOGARITHMIC_FROM = 25;

/** A scale from 0 to a round number above the largest value. */
export function straightScale(largest: number): Scale {
  const step = roundStep(Math.max(largest, 1e-9) / WANTED_TICKS);
  const top = Math.ceil(Math.max(largest, 1e-9) / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step);
  return { positionOf: (value) => value / top, ticks };
}

/** Logarithmic if the values are far apart, otherwise linear. */
export function latencyScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
  const [least, largest] = [positive[0], positive.at(-1)];
  if (least === undefined || largest === undefined || largest / least < LOGARITHMIC_FROM)
    return straightScale(largest ?? 1);
  const from = Math.floor(Math.log10(least));
  const to = Math.ceil(Math.log10(largest));
  const ticks = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  const positionOf = (value: number) => Math.max(0, (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from));
  return { positionOf, ticks };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= atLeast * 0.999) ?? 10 * power;
}

export interface ChartSeries {
  readonly name: string;
  /** A value for each position on the horizontal axis; null without one. */
  readonly values: readonly (number | null)[];
  /** The CSS variable of its colour. */
  readonly colour: string;
}

/** A horizontal axis that is not time. */
interface Axis {
  readonly name: string;
  readonly ticks: readonly number[];
  readonly format: (x: number) => string;
}

export interface Chart {
  readonly title: string;
  /** A sentence that describes the chart. */
  readonly description: string;
  /** Positions on the horizontal axis: seconds from the start, unless `axis` defines another axis. */
  readonly xs: readonly number[];
  readonly axis?: Axis;
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  /** Each series is stacked on the previous ones. */
  readonly isStacked?: boolean;
  /** Default: linear, from 0. */
  readonly scale?: Scale;
}

const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 58;
/** Room for half of the last label of the axis. */
const RIGHT = 24;
const TOP = 10;
const BOTTOM = 26;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
const TIME_TICKS = 6;
/** A longer table is not readable; the chart contains all rows. */
const TABLE_ROWS = 60;

/** A chart as SVG, with its legend and a table of its figures. */
export function chartFigure(chart: Chart): Markup {
  const { title, description, series } = chart;
  const legend = series.map(({ name, colour }) => html`<li><i style="background:var(${colour})"></i>${name}</li>`);
  return html`<figure>
<figcaption><h2>${title}</h2><p>${description}</p></figcaption>
<ul class="legend" aria-hidden="true">${legend}</ul>
${svgOf(chart)}
${tableOf(chart)}
</figure>`;
}

function svgOf(chart: Chart): Markup {
  const { title, xs, series, isStacked = false } = chart;
  const axis = chart.axis ?? timeAxis(xs);
  const layers = isStacked ? stacked(series) : series.map(({ values }) => ({ from: undefined, to: values }));
  const largest = Math.max(0, ...layers.flatMap(({ to }) => to.map((value) => value ?? 0)));
  const scale = chart.scale ?? straightScale(largest);
  const place: Place = {
    x: (at) => xOf(xs[at] ?? 0, xs),
    y: (value) => TOP + PLOT_HEIGHT * (1 - Math.min(1, scale.positionOf(value))),
  };
  // The first series is drawn on top.
  const shapes = layers.map(({ from, to }, at) => {
    const colour = `var(${series[at]!.colour})`;
    return from === undefined
      ? html`<path class="line" style="stroke:${colour}" d="${lineOf(to, place)}"/>`
      : html`<path class="area" style="fill:${colour}" d="${areaOf(from, to, place)}"/>`;
  });
  const data = JSON.stringify({
    x: xs.map((_, at) => round(place.x(at))),
    time: xs.map(axis.format),
    rows: series.map(({ name, values, colour }) => ({
      name,
      colour,
      values: values.map((value) => (value === null ? '–' : chart.format(value))),
    })),
  });
  return html`<div class="plot" data-chart="${data}">
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}: the table below has the figures">
${gridOf(scale, chart.format)}
${ticksOf(axis, xs)}
${shapes.toReversed()}
<line class="cursor" y1="${TOP}" y2="${TOP + PLOT_HEIGHT}" x1="-9" x2="-9"/>
</svg><div class="tip" hidden></div></div>`;
}

interface Place {
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
}

/** A null interrupts the line; a single value between two nulls is a dot. */
function lineOf(values: readonly (number | null)[], { x, y }: Place): string {
  return values
    .map((value, at) => {
      if (value === null) return '';
      const isFirst = at === 0 || values[at - 1] === null;
      const isAlone = isFirst && (values[at + 1] ?? null) === null;
      return `${isFirst ? 'M' : 'L'}${round(x(at))} ${round(y(value))}${isAlone ? 'h0.1' : ''}`;
    })
    .join('');
}

function areaOf(from: readonly number[], to: readonly (number | null)[], { x, y }: Place): string {
  const above = to.map((value, at) => `${at === 0 ? 'M' : 'L'}${round(x(at))} ${round(y(value ?? 0))}`);
  const below = from.map((value, at) => `L${round(x(at))} ${round(y(value))}`).reverse();
  return `${above.join('')}${below.join('')}Z`;
}

function stacked(series: readonly ChartSeries[]): { from: number[]; to: number[] }[] {
  let ground = (series[0]?.values ?? []).map(() => 0);
  return series.map(({ values }) => {
    const from = ground;
    ground = values.map((value, at) => from[at]! + (value ?? 0));
    return { from, to: ground };
  });
}

function gridOf({ ticks, positionOf }: Scale, format: Chart['format']): readonly Markup[] {
  return ticks.map((tick) => {
    const y = round(TOP + PLOT_HEIGHT * (1 - positionOf(tick)));
    return html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}"/><text class="tick" x="${LEFT - 8}" y="${y + 4}" text-anchor="end">${format(tick)}</text>`;
  });
}

function ticksOf({ ticks, format }: Axis, xs: readonly number[]): readonly Markup[] {
  return ticks.map((tick) => {
    const x = round(xOf(tick, xs));
    return html`<text class="tick" x="${x}" y="${HEIGHT - 8}" text-anchor="middle">${format(tick)}</text>`;
  });
}

function xOf(x: number, xs: readonly number[]): number {
  return LEFT + (PLOT_WIDTH * x) / Math.max(1e-9, xs.at(-1) ?? 1);
}

function timeAxis(xs: readonly number[]): Axis {
  const last = xs.at(-1) ?? 0;
  const step = Math.max(1, roundStep(Math.max(1, last) / TIME_TICKS));
  const ticks = Array.from({ length: Math.floor(last / step) + 1 }, (_, at) => at * step);
  return { name: 'Time', ticks, format: clock };
}

function tableOf({ title, xs, axis = timeAxis(xs), series, format }: Chart): Markup {
  const every = Math.max(1, Math.ceil(xs.length / TABLE_ROWS));
  const rows = xs.flatMap((x, at) => {
    if (at % every !== 0) return [];
    const cells = series.map(({ values }) => {
      const value = values[at] ?? null;
      return value === null ? '–' : format(value);
    });
    return [[axis.format(x), ...cells]];
  });
  const heads = [axis.name, ...series.map(({ name }) => name)];
  return html`<details><summary>Table</summary>${tableMarkup(heads, rows, title)}</details>`;
}

/** A table that scrolls. The first cell of a row is its head. */
export function tableMarkup(heads: readonly string[], rows: readonly (readonly string[])[], title?: string): Markup {
  const caption = title !== undefined && html`<caption>${title}</caption>`;
  const head = heads.map((each) => html`<th scope="col">${each}</th>`);
  const body = rows.map(
    ([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  );
  return html`<div class="scroll"><table>${caption}<thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** `12 s`, `1:05`. */
function clock(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
