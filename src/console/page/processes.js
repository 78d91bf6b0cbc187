import { actButton } from './acts.js';
import { age, byId, bytes, chip, count, figure, h, keepInStep, ms, rate, rowOf, setText } from './dom.js';
import { acquirerName } from './names.js';

/** @typedef {import('./live.js').Frame} Frame */
/** @typedef {Frame['processes'][number]} ProcessItem */
/** @typedef {NonNullable<Frame['backlog']>} Backlog */

/**
 * @param {ProcessItem} item
 * @returns {import('./dom.js').Kept<ProcessItem>}
 */
export function processRow({ id }) {
  return rowOf([
    { of: ({ role, host, pid }) => `${role} · ${host} · ${pid}` },
    { of: (item, cell) => showProcess(id, item, cell) },
    figure(
      ({ busy }) => `${count(busy * 100)} %`,
      ({ busy }) => (busy > 0.85 ? 'warn' : ''),
    ),
    figure(({ rssBytes }) => bytes(rssBytes)),
    figure(({ startedAtMs }) => age((Date.now() - startedAtMs) / 1_000)),
    figure(
      ({ clients }) => `${clients.used} of ${clients.used + clients.idle}`,
      ({ clients }) => (clients.waiting > 0 ? 'warn' : ''),
    ),
    figure(({ messages }) =>
      messages.dropped > 0 ? `${count(messages.kept)}, ${count(messages.dropped)} dropped` : count(messages.kept),
    ),
  ]);
}

/**
 * @param {string} id
 * @param {ProcessItem} item
 * @param {any} cell
 */
function showProcess(id, { isDraining, role }, cell) {
  chip(cell, isDraining ? 'draining' : 'up', isDraining ? 'warn' : 'good');
  if (cell.isDraining === isDraining) return;
  cell.isDraining = isDraining;
  cell.button?.remove();
  cell.button = actButton({
    label: isDraining ? 'Resume' : 'Drain',
    name: `${isDraining ? 'Resume' : 'Drain'} the process ${role}`,
    title: isDraining ? 'Let this process accept traffic again?' : 'Drain this process?',
    text: isDraining
      ? 'The process reports that it is ready, and load balancers send it new requests.'
      : 'The process reports that it is not ready, so load balancers send it no new requests. It completes open requests and keeps running until you stop or resume it.',
    yes: isDraining ? 'Resume' : 'Drain',
    body: { act: isDraining ? 'resume' : 'drain', processId: id },
  });
  if (cell.button) cell.append(' ', cell.button);
}

/**
 * Which acquirers this cell does not serve, or not for long.
 *
 * @param {NonNullable<Backlog['database']>} database
 */
function factsOfCell({ cell, moved }) {
  if (cell === null) return [];
  /** @type {Record<string, string>} */
  const words = { arriving: 'is copied from', leaving: 'is copied to', gone: 'is served by' };
  const acquirers = moved.map(({ acquirerId, state, peer }) => ({
    name: `Acquirer ${acquirerName(acquirerId)}`,
    value: `${words[state] ?? 'is handed over to'} cell ${peer}`,
  }));
  return [{ name: 'Cell', value: cell }, ...acquirers];
}

/** @param {Pick<Frame, 'commits'> & { backlog: Backlog }} frame */
export function showDatabase({ commits, backlog }) {
  const { database } = backlog;
  if (!database) return;
  const facts = [
    { name: 'Size', value: bytes(database.bytes) },
    {
      name: 'Connections',
      value: `${count(database.connections)} of ${count(database.mostConnections)}, ${count(database.active)} active`,
    },
    { name: 'Commits per second', value: rate(commits?.perSecond ?? 0) },
    { name: 'Commit p50', value: `${ms(commits?.p50)} ms` },
    { name: 'Commit p99', value: `${ms(commits?.p99)} ms` },
    ...factsOfCell(database),
  ];
  keepInStep(
    byId('database'),
    facts,
    ({ name }) => name,
    ({ name }) => {
      const value = h('dd');
      return { element: h('div', {}, h('dt', {}, name), value), update: (fact) => setText(value, fact.value) };
    },
  );
}
