import { actButton } from './acts.js';
import { age, chip, count, figure, h, rowOf } from './dom.js';
import { acquirerName } from './names.js';

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
      ({ oldestReadySeconds: oldest }) => (oldest > 60 ? 'warn' : ''),
    ),
  ]);
}

export function webhookRow() {
  return rowOf([
    { of: ({ acquirerId, integratorId }) => `${acquirerName(acquirerId)} · integrator ${integratorId}` },
    { of: ({ serves }) => serves },
    { of: ({ isDisabled }, cell) => chip(cell, isDisabled ? 'disabled' : 'listening', isDisabled ? 'bad' : 'good') },
    figure(({ pending }) => count(pending)),
  ]);
}

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

/** Each counter has a link to the list of its transactions. */
function showFinders({ acquirerId, reversalsOwed, needsReview }, cell) {
  cell.owed ??= finder('Show open reversals', 'reversal', acquirerId);
  cell.review ??= finder('Show transactions for review', 'review', acquirerId);
  if (!cell.firstChild) cell.append(cell.owed, ' ', cell.review);
  cell.owed.hidden = reversalsOwed === 0;
  cell.review.hidden = needsReview === 0;
}

function finder(label, attention, acquirerId) {
  const href = `/ops/transactions?attention=${attention}&acquirer=${acquirerId}`;
  return h('a', { 'data-view': true, href }, label);
}

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
