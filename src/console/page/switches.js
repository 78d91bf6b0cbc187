import { actButton } from './acts.js';
import { age, chip, count, figure, h, keepInStep, ms, rate, rowOf, setText } from './dom.js';
import { switchName } from './names.js';

/** @typedef {import('./live.js').Frame} Frame */
/** @typedef {Frame['switches'][number] & { worker?: string }} SwitchItem */
/** @typedef {SwitchItem['lines'][number]} Line */

/** @type {Record<string, string>} */
const STATES = {
  ...{ ready: 'good', full: 'warn', connecting: 'warn', draining: 'warn' },
  ...{ keyless: 'bad', down: 'bad', closed: 'bad', unusable: 'bad' },
};
/** @param {(item: SwitchItem) => number} of */
const trouble = (of) =>
  figure(
    (item) => count(of(item)),
    (item) => (of(item) > 0 ? 'warn' : ''),
  );

/**
 * If several workers have connections to the same switch, each row names its worker.
 *
 * @param {Frame} frame
 * @returns {readonly SwitchItem[]}
 */
export function withWorkers({ switches, processes }) {
  const ids = [...new Set(switches.map(({ processId }) => processId))].sort();
  if (ids.length < 2) return switches;
  const named = new Map(processes.map(({ id, host, pid }) => [id, `${host} · ${pid}`]));
  const workers = new Map(ids.map((id, at) => [id, named.get(id) ?? `worker ${at + 1}`]));
  return switches.map((each) => ({ ...each, worker: workers.get(each.processId) }));
}

/** @returns {import('./dom.js').Kept<SwitchItem>} */
export function switchRow() {
  return rowOf([
    { of: ({ name, type, worker }) => [switchName(name), type, worker].filter(Boolean).join('  ') },
    { of: ({ availability }, cell) => chip(cell, availability, STATES[availability]) },
    { of: (item, cell) => showLines(item, cell) },
    figure(({ inFlight }) => count(inFlight)),
    figure((item) => rate(item.responsesPerSecond)),
    figure((item) => ms(item.p50)),
    figure((item) => ms(item.p99)),
    trouble((item) => item.timedOut),
    trouble((item) => item.late),
    trouble((item) => item.unmatched),
    trouble((item) => item.badMacs),
    figure((item) => count(item.reconnects)),
    {
      of: ({ lastEchoAtMs }) =>
        lastEchoAtMs === null ? '–' : `${age((Date.now() - lastEchoAtMs) / 1_000)} ago`.replace('now ago', 'now'),
    },
  ]);
}

/**
 * @param {SwitchItem} item
 * @param {HTMLElement} cell
 */
function showLines(item, cell) {
  keepInStep(
    cell,
    item.lines,
    ({ id }) => id,
    (line) => lineOf(item, line),
  );
}

/**
 * @param {SwitchItem} item
 * @param {Line} line
 */
function lineOf({ processId, name }, { id }) {
  const [acquirerId, processorId] = name.split(' ').map(Number);
  const state = h('span', { class: 'chip' });
  const address = h('span', { class: 'mono' });
  const buttons = h('span');
  const element = h('div', { class: 'line' }, state, ' ', address, ' ', buttons);
  /** @param {'signOn' | 'signOff'} what */
  const button = (what) => {
    const isOff = what === 'signOff';
    return actButton({
      label: isOff ? 'Sign off' : 'Sign on',
      name: `${isOff ? 'Sign off' : 'Sign on'} ${id}`,
      title: isOff ? 'Sign this connection off?' : 'Sign this connection on?',
      text: isOff
        ? `${id} completes the requests in flight, signs off and stays down until an operator signs it on. Taps use the other connections; without one, they cannot go online.`
        : `${id} connects and signs on again, and then accepts taps.`,
      yes: isOff ? 'Sign off' : 'Sign on',
      body: { act: what, processId, acquirerId, processorId, line: id },
    });
  };
  /** @type {'signOn' | 'signOff' | undefined} */
  let shown;
  return {
    element,
    /** @param {Line} line */
    update(line) {
      setText(state, line.isHeld ? 'signed off' : line.state);
      state.dataset.state = line.isHeld ? 'bad' : STATES[line.state];
      setText(address, line.address);
      const wanted = line.isHeld || line.state === 'down' ? 'signOn' : 'signOff';
      if (shown !== wanted) buttons.replaceChildren(button(wanted) ?? '');
      shown = wanted;
    },
  };
}
