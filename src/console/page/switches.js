import { actButton } from './acts.js';
import { age, chip, count, figure, h, keepInStep, ms, rate, rowOf, setText, sum } from './dom.js';
import { switchName } from './names.js';

/** @typedef {import('./live.js').Frame} Frame */
/** @typedef {Frame['switches'][number]} SwitchItem */
/** @typedef {SwitchItem['lines'][number] & { of: SwitchItem, worker: string }} Line a connection, with the worker that has it */
/** @typedef {{ name: string, type: string, items: SwitchItem[], lines: Line[] }} SwitchGroup a switch with all workers' connections */

/** From the worst. */
const AVAILABILITIES = ['unusable', 'down', 'closed', 'keyless', 'draining', 'connecting', 'full', 'ready'];
/** @type {Record<string, string>} */
const STATES = {
  ...{ ready: 'good', full: 'warn', connecting: 'warn', draining: 'warn' },
  ...{ keyless: 'bad', down: 'bad', closed: 'bad', unusable: 'bad' },
};
/** @type {[name: string, of: (item: SwitchItem) => number][]} What should not happen. */
const TROUBLES = [
  ['timed out', ({ timedOut }) => timedOut],
  ['late', ({ late }) => late],
  ['unmatched', ({ unmatched }) => unmatched],
  ['bad MAC', ({ badMacs }) => badMacs],
  ['reconnects', ({ reconnects }) => reconnects],
];

/**
 * One entry for each switch, with the connections of all workers, those in trouble first.
 *
 * @param {Frame} frame
 * @returns {SwitchGroup[]}
 */
export function groupSwitches({ switches, processes }) {
  const named = new Map(processes.map(({ id, host, pid }) => [id, `${host} · ${pid}`]));
  const ids = [...new Set(switches.map(({ processId }) => processId))].sort();
  const workerOf = (/** @type {string} */ id) =>
    ids.length < 2 ? '' : (named.get(id) ?? `worker ${ids.indexOf(id) + 1}`);
  const groups = Object.values(Object.groupBy(switches, ({ name }) => name)).map((found) => {
    const items = found ?? [];
    const lines = items.flatMap((of) => of.lines.map((line) => ({ ...line, of, worker: workerOf(of.processId) })));
    return { name: items[0].name, type: items[0].type, items, lines };
  });
  return groups.sort((one, other) => AVAILABILITIES.indexOf(worstOf(one)) - AVAILABILITIES.indexOf(worstOf(other)));
}

/** @param {SwitchGroup} group */
function worstOf({ items }) {
  const present = new Set(items.map(({ availability }) => String(availability)));
  return AVAILABILITIES.find((each) => present.has(each)) ?? 'down';
}

/** The slowest worker decides. @param {(item: SwitchItem) => number | null} of @returns {(group: SwitchGroup) => string} */
const slowest = (of) => (group) => {
  const known = group.items.map(of).filter((each) => each !== null);
  return ms(known.length > 0 ? Math.max(...known) : null);
};

/** @returns {import('./dom.js').Kept<SwitchGroup>} */
export function switchRow() {
  return rowOf([
    { of: ({ name, type }) => `${switchName(name)}, ${type}` },
    { of: (group, cell) => chip(cell, worstOf(group), STATES[worstOf(group)]) },
    { of: (group, cell) => showLines(group, cell) },
    figure(({ items }) => count(sum(items, ({ inFlight }) => inFlight))),
    figure(({ items }) => rate(sum(items, ({ responsesPerSecond }) => responsesPerSecond))),
    figure(slowest(({ p50 }) => p50)),
    figure(slowest(({ p99 }) => p99)),
    { of: troubleOf, mark: (group) => (troubleOf(group) === '–' ? '' : 'warn') },
    { of: lastEchoOf },
  ]);
}

/** @param {SwitchGroup} group */
function troubleOf({ items }) {
  const counted = TROUBLES.map(([name, of]) => /** @type {const} */ ([name, sum(items, of)]));
  const texts = counted.filter(([, number]) => number > 0).map(([name, number]) => `${count(number)} ${name}`);
  return texts.join(', ') || '–';
}

/** @param {SwitchGroup} group */
function lastEchoOf({ items }) {
  const last = Math.max(...items.map(({ lastEchoAtMs }) => lastEchoAtMs ?? 0));
  return last === 0 ? '–' : `${age((Date.now() - last) / 1_000)} ago`.replace('now ago', 'now');
}

/**
 * The connections are folded in while all of them are ready.
 *
 * @param {SwitchGroup} group
 * @param {any} cell
 */
function showLines({ lines }, cell) {
  const usable = lines.filter(({ state, isHeld }) => state === 'ready' && !isHeld).length;
  if (!cell.fold) {
    cell.summary = h('summary');
    cell.connections = h('div');
    cell.fold = cell.appendChild(h('details', {}, cell.summary, cell.connections));
  }
  const isFaulty = usable < lines.length;
  if (isFaulty && !cell.wasFaulty) cell.fold.open = true;
  cell.wasFaulty = isFaulty;
  setText(cell.summary, `${usable} of ${lines.length} ready`);
  keepInStep(cell.connections, lines, ({ id, of }) => `${of.processId} ${id}`, lineOf);
}

/** @param {Line} line */
function lineOf({ id, of: { processId, name }, worker }) {
  const [acquirerId, processorId] = name.split(' ').map(Number);
  const state = h('span', { class: 'chip' });
  const address = h('span', { class: 'mono' });
  const buttons = h('span');
  const element = h('div', { class: 'line' }, state, ' ', address, ' ', worker && h('small', {}, worker), ' ', buttons);
  /** @param {'signOn' | 'signOff'} what */
  const button = (what) => {
    const isOff = what === 'signOff';
    return actButton({
      label: isOff ? 'Sign off' : 'Sign on',
      name: `${isOff ? 'Sign off' : 'Sign on'} ${id}${worker && ` of ${worker}`}`,
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
