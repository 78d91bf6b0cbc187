import { ACKNOWLEDGES, DECLINES, isFalseAcknowledgement, REFUND_UNDER_WAY_MS, REFUSES } from '../rules/lies.ts';
import type { Execution } from './execution.ts';
import type { Labels } from './labels.ts';

/** What the rules look at in what the switch has said. */
export interface SeenStatements {
  /** What may accuse: two executions are judged alike only if these are equal. */
  readonly texts: readonly string[];
  /** What can only excuse: with fewer of them an execution violates every rule that it violates with more. */
  readonly excuses: readonly string[];
}

export function seenStatements(execution: Execution, labels: Labels): SeenStatements {
  const { statements, requests } = execution;
  const refundsMs = requests.filter(({ kind }) => kind === 'refund').map(({ writtenAtMs }) => writtenAtMs);
  const excuses = new Set<string>();
  const orders = new Map<string, string>();
  const doneMs = new Map<string, number>();
  /** Transactions with an approval that a process has stored. */
  const known = new Set<string>();
  for (const said of statements) {
    const { key, transactionId, number, meaning, isUnheard, atMs, heardAtMs = atMs, stateThen, about } = said;
    const order = orders.get(key) ?? '';
    if (about === 'request') {
      if (meaning === 'approved') {
        excuses.add(`${transactionId} approved`);
        if (stateThen === 'unknown') excuses.add(`${transactionId} approved in vain`);
        if (!isUnheard) known.add(transactionId);
        if (!order.includes('A') && !(isUnheard && order.endsWith('p')))
          orders.set(key, order + (isUnheard ? 'p' : 'A'));
      } else {
        excuses.add(`${transactionId} not approved`);
        if (DECLINES.includes(meaning)) excuses.add(`${labels.ofKey(key)} declined`);
      }
      continue;
    }
    const label = labels.request(requests[number - 1]!);
    const moments = ['ever', ...refundsMs.flatMap((ms, index) => (atMs <= ms ? [index] : []))];
    for (const moment of moments) {
      if (!isUnheard) excuses.add(`${label} got ${moment}`);
      if (REFUSES.includes(meaning)) excuses.add(`${transactionId} refuses ${moment}`);
    }
    excuses.add(`${label} got a response`);
    if (ACKNOWLEDGES.includes(meaning)) {
      excuses.add(`${transactionId} acknowledged`);
      if (!known.has(transactionId)) excuses.add(`${transactionId} acknowledged before its approval`);
    }
    if (isFalseAcknowledgement(said))
      for (let n = 0; n <= order.length; n++) excuses.add(`${labels.ofKey(key)} false ${n}`);
    if (meaning === 'done' && !isUnheard)
      doneMs.set(transactionId, Math.min(doneMs.get(transactionId) ?? heardAtMs, heardAtMs));
  }
  const done = [...doneMs].map(([id, atMs]) => {
    const before = refundsMs.map((ms) => atMs <= ms - REFUND_UNDER_WAY_MS);
    return `${id} done ${labels.age(atMs, REFUND_UNDER_WAY_MS)} ${before.join()}`;
  });
  const texts = [...orders].map(([key, order]) => `${labels.ofKey(key)} ${order}`);
  return { texts: [...texts, ...done].sort(), excuses: [...excuses] };
}
