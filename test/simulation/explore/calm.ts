import { Disposition } from '../../../src/transactions/model/disposition.ts';
import { refundOf } from './cases.ts';
import { say, take } from './choices.ts';
import type { Execution } from './execution.ts';

/**
 * How the switch behaves after the faults. `obliging`: it acknowledges what is reversed already. `strict`: it refuses
 * that (57), and cannot locate what it never booked (25). `silent`: it no longer answers reversals.
 */
export type Manner = 'obliging' | 'strict' | 'silent';

/** More steps than the longest reversal has repeats: an execution that takes more never ends. */
const MOST_STEPS = 300;

/** No further faults: everything that is open must end without help. */
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

/** As many steps as it takes until a transaction that cannot be built needs review. */
const STEPS_WITHOUT_KEY = 40;

/** Without the key nothing can be reversed, and this must be visible to a person; then the key returns. */
async function restWithoutKey(execution: Execution, manner: Manner): Promise<void> {
  for (let steps = 0; steps < STEPS_WITHOUT_KEY; steps++) {
    if (answerNext(execution, manner)) await execution.settle();
    else await execution.pass(execution.processNamed('A'));
  }
  for (const { transaction } of execution.store.rows.values()) {
    const { disposition, needsReview, id } = transaction;
    if (disposition === Disposition.Indeterminate && !needsReview)
      execution.faults.push(`${id} cannot be reversed without the key, and is not in review`);
  }
  execution.isKeyLost = false;
}

/** The client requests a refund of the whole sale, regardless of the books. */
export async function tryRefund(execution: Execution, manner: Manner): Promise<void> {
  const refund = refundOf('refund at the end', '10.00');
  if (!refund.isPossible(execution)) return;
  refund.ask(execution, execution.processNamed('B'));
  await execution.settle();
  await comeToRest(execution, manner);
}

/** A reversal that was received before the calm is no longer answered: its response is lost. */
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
