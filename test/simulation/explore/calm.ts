import { Disposition } from '../../../src/transactions/model/disposition.ts';
import { refundOf } from './cases.ts';
import { say, take } from './choices.ts';
import type { Execution } from './execution.ts';

/**
 * How the switch behaves once the faults are over. `obliging`: it acknowledges what is reversed already; `strict`: it refuses
 * that (57), and what it never booked it cannot locate (25); `silent`: it answers no reversal any more.
 */
export type Manner = 'obliging' | 'strict' | 'silent';

/** More steps than the longest reversal has repeats: what takes more never ends. */
const MOST_STEPS = 300;

/** No more faults: everything that is open must come to its end by itself. */
export async function comeToRest(execution: Execution, manner: Manner): Promise<void> {
  execution.beginStep(new Map());
  for (const { go } of execution.parked.splice(0)) go();
  await execution.settle();
  if (execution.isKeyLost) await restWithoutKey(execution, manner);
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    if (answerNext(execution, manner)) await execution.settle();
    else if (execution.nextMs() === undefined) return;
    else await execution.pass(execution.processNamed('A'));
  }
  execution.faults.push('it does not come to rest');
}

/** As long as it takes for whatever cannot be built to reach a person. */
const STEPS_WITHOUT_KEY = 40;

/** Without the key nothing can be reversed, and a person must see that; then the key comes back. */
async function restWithoutKey(execution: Execution, manner: Manner): Promise<void> {
  for (let steps = 0; steps < STEPS_WITHOUT_KEY; steps++) {
    if (answerNext(execution, manner)) await execution.settle();
    else await execution.pass(execution.processNamed('A'));
  }
  for (const { transaction } of execution.store.rows.values()) {
    const { disposition, needsReview, id } = transaction;
    if (disposition === Disposition.Indeterminate && !needsReview)
      execution.faults.push(`${id} cannot be reversed without the key, and nobody looks at it`);
  }
  execution.isKeyLost = false;
}

/** The client tries to have the whole sale given back, whatever the books say. */
export async function tryRefund(execution: Execution, manner: Manner): Promise<void> {
  const refund = refundOf('refund at the end', '10.00');
  if (!refund.isPossible(execution)) return;
  refund.ask(execution, execution.processNamed('B'));
  await execution.settle();
  await comeToRest(execution, manner);
}

/** A reversal that was taken before the calm is not answered any more: its answer is lost. */
function answerNext(execution: Execution, manner: Manner): boolean {
  const request = execution.requests.find(
    ({ number, kind, isTaken }) => execution.waiting.has(number) && !(kind === 'reversal' && isTaken),
  );
  if (!request) return false;
  if (request.kind !== 'reversal') {
    take(execution, request);
    say(execution, request, '00');
    return true;
  }
  if (manner === 'silent') return false;
  const before = execution.ledger.stateOf(request.key);
  take(execution, request);
  say(execution, request, manner === 'obliging' || before === 'booked' ? '00' : before === 'reversed' ? '57' : '25');
  return true;
}
