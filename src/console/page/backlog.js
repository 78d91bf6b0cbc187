import { actButton } from './acts.js';
import { age, chip, count, figure, h, rowOf } from './dom.js';
import { acquirerName } from './names.js';

/** @typedef {import('../frame.ts').ConsoleBacklog} Sent */
/** @typedef {Omit<Sent['deadLetters'][number], 'diedAt'> & { diedAt: string }} DeadLetter as JSON has it */
/** @typedef {Omit<Sent, 'deadLetters'> & { deadLetters: DeadLetter[] }} Backlog */

/** @returns {import('./dom.js').Kept<Backlog['queues'][number]>} */
export function queueRow() {
  return rowOf([
    { of: ({ queue }) => queue },
    figure(
      ({ ready }) => count(ready),
      ({ ready }) => (ready > 1_000 ? 'warn' : ''),
    ),
    figure(({ active }) => count(active)),
    figure(({ waiting }) => count(waiting)),
    figure(
      ({ retry }) => count(retry),
      ({ retry }) => (retry > 0 ? 'warn' : ''),
    ),
    figure(
      ({ dead }) => count(dead),
      ({ dead }) => (dead > 0 ? 'bad' : ''),
    ),
    figure(
      ({ oldestReadySeconds: oldest }) => (oldest === null ? '–' : age(oldest)),
      ({ oldestReadySeconds: oldest }) => ((oldest ?? 0) > 60 ? 'warn' : ''),
    ),
  ]);
}

/** @returns {import('./dom.js').Kept<Backlog['webhooks'][number]>} */
export function webhookRow() {
  return rowOf([
    { of: ({ acquirerId, integratorId }) => `${acquirerName(acquirerId)} · integrator ${integratorId}` },
    { of: ({ serves }) => serves },
    { of: ({ isDisabled }, cell) => chip(cell, isDisabled ? 'disabled' : 'listening', isDisabled ? 'bad' : 'good') },
    figure(({ pending }) => count(pending)),
  ]);
}

/** @returns {import('./dom.js').Kept<Backlog['owed'][number]>} */
export function owedRow() {
  return rowOf([
    { of: ({ acquirerId }) => acquirerName(acquirerId) },
    figure(
      ({ reversalsOwed }) => count(reversalsOwed),
      ({ reversalsOwed }) => (reversalsOwed > 0 ? 'warn' : ''),
    ),
    figure(
      ({ needsReview }) => count(needsReview),
      ({ needsReview }) => (needsReview > 0 ? 'bad' : ''),
    ),
    { of: showFinders },
  ]);
}

/**
 * Each counter has a link to the list of its transactions.
 *
 * @param {Backlog['owed'][number]} owed
 * @param {any} cell
 */
function showFinders({ acquirerId, reversalsOwed, needsReview }, cell) {
  cell.owed ??= finder('Show open reversals', 'reversal', acquirerId);
  cell.review ??= finder('Show transactions for review', 'review', acquirerId);
  if (!cell.firstChild) cell.append(cell.owed, ' ', cell.review);
  cell.owed.hidden = reversalsOwed === 0;
  cell.review.hidden = needsReview === 0;
}

/**
 * @param {string} label
 * @param {string} attention
 * @param {number} acquirerId
 */
function finder(label, attention, acquirerId) {
  const href = `/ops/transactions?attention=${attention}&acquirer=${acquirerId}`;
  return h('a', { 'data-view': true, href }, label);
}

/**
 * @param {DeadLetter} letter
 * @returns {import('./dom.js').Kept<DeadLetter>}
 */
export function deadRow({ id, queue }) {
  return rowOf([
    { of: ({ diedAt }) => `${age((Date.now() - Date.parse(diedAt)) / 1_000)} ago` },
    { of: (letter) => letter.queue },
    { of: ({ reason }) => reason },
    {
      of: ({ names }) =>
        Object.entries(names)
          .map(([name, value]) => `${name} ${value}`)
          .join(', '),
    },
    {
      of: (_letter, cell) => {
        if (cell.firstChild) return;
        const button = actButton({
          label: 'Redrive',
          name: `Redrive the dead letter ${id}`,
          title: 'Return this job to its queue?',
          text: `The job returns to ${queue} as a new job with all its retries.`,
          yes: 'Redrive',
          body: { act: 'redriveDeadLetter', id },
        });
        if (button) cell.append(button);
      },
    },
  ]);
}
