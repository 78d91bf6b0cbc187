import { deadRow, owedRow, queueRow, webhookRow } from './backlog.js';
import { addToCharts, resetCharts } from './charts.js';
import { age, byId, keepInStep, keepRows, ms, rate, setText } from './dom.js';
import { look } from './outage.js';
import { groupOutcomes, outcomeRow } from './outcomes.js';
import { processRow, showDatabase } from './processes.js';
import { groupSwitches, switchRow } from './switches.js';
import { showTiles } from './tiles.js';
import { showTroubles, showUnknown } from './troubles.js';

/** @typedef {import('./backlog.js').Backlog} Backlog */
/** @typedef {Omit<import('../frame.ts').Frame, 'backlog'> & { backlog: Backlog | null }} Frame */

/** Frames arrive every second; after this time without one, the figures are marked as old. */
const OLD_AFTER_SECONDS = 5;
/** Delay before the next request to a gateway that refused the stream. */
const ASK_AGAIN_MS = 3_000;

/** @type {EventSource | undefined} */
let source;
/** @type {ReturnType<typeof setInterval> | undefined} */
let watching;
/** @type {number | undefined} */
let lastFrameAtMs;

/**
 * Shows the figures until the session ends.
 *
 * @param {() => void} onOver
 */
export function follow(onOver) {
  stop();
  source = new EventSource('/ops/stream');
  source.addEventListener('history', (event) => resetCharts(JSON.parse(event.data)));
  source.addEventListener('frame', (event) => {
    lastFrameAtMs = performance.now();
    pulse('live', 'on');
    show(JSON.parse(event.data));
  });
  source.onerror = () => {
    if (source?.readyState === EventSource.CLOSED) setTimeout(onOver, ASK_AGAIN_MS);
  };
  lastFrameAtMs ??= performance.now();
  watching = setInterval(showAge, 1_000);
}

export function stop() {
  source?.close();
  source = undefined;
  clearInterval(watching);
}

/** A stream can be open and silent, because a gateway without its database sends nothing. */
function showAge() {
  const seconds = (performance.now() - (lastFrameAtMs ?? 0)) / 1_000;
  if (seconds < OLD_AFTER_SECONDS) return;
  pulse(`no data for ${age(seconds)}`, 'off');
  showUnknown(Date.now() - seconds * 1_000);
  look();
}

/**
 * @param {string} text
 * @param {string} state
 */
function pulse(text, state) {
  setText(byId('pulse'), text);
  byId('pulse').dataset.state = state;
  document.body.classList.toggle('is-old', state === 'off');
}

/** @param {Frame} frame */
function show(frame) {
  const { backlog, processes } = frame;
  addToCharts(frame);
  setText(byId('rate-said'), `${rate(frame.taps.perSecond)} now`);
  setText(byId('latency-said'), `p50 ${ms(frame.taps.p50)}, p99 ${ms(frame.taps.p99)} milliseconds now`);
  showTiles(frame);
  showTroubles(frame);
  keepRows(byId('switches'), groupSwitches(frame), ({ name }) => name, switchRow, {
    columns: 9,
    none: 'No worker with a switch is running.',
  });
  keepRows(byId('outcomes'), groupOutcomes(frame.outcomes), ({ key }) => key, outcomeRow, {
    columns: 8,
    none: 'No outcomes yet.',
  });
  keepInStep(byId('processes'), processes, ({ id }) => id, processRow);
  if (!backlog) return;
  showBacklog(backlog);
  showDatabase({ ...frame, backlog });
}

/** @param {Backlog} backlog */
function showBacklog({ queues, webhooks, owed, deadLetters }) {
  keepInStep(byId('queues'), queues, ({ queue }) => queue, queueRow);
  /** @param {Backlog['webhooks'][number]} endpoint */
  const endpointOf = ({ acquirerId, integratorId, serves }) => `${acquirerId} ${integratorId} ${serves}`;
  keepRows(byId('webhooks'), webhooks, endpointOf, webhookRow, {
    columns: 4,
    none: 'No callback URL is registered.',
  });
  keepRows(byId('owed'), owed, ({ acquirerId }) => acquirerId, owedRow, {
    columns: 4,
    none: 'No uncertain transactions.',
  });
  keepRows(byId('dead'), deadLetters, ({ id }) => id, deadRow, { columns: 5, none: 'No dead letters.' });
}
