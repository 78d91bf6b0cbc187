import { Disposition } from '../../../src/payments/model/disposition.ts';
import { TransactionType } from '../../../src/payments/model/transaction.ts';
import { refundOf } from './cases.ts';
import { say, take } from './choices.ts';
import type { Execution } from './execution.ts';
import type { Policy } from './policies.ts';

/** More steps than the longest reversal has repeats: an execution that takes more never ends. */
const MAX_STEPS = 300;

/** Watches how an execution comes to its end. */
export interface Watcher {
  /** Whether the end from here is known to be clean. Then the execution need not continue. */
  readonly isClean: (execution: Execution) => boolean;
  /** A reversal waits: from here on the end depends on the policy. If it finds what it reverses, only a silent switch differs. */
  readonly differs: (isBooked: boolean) => void;
  /** Everything has come to rest. */
  readonly rests: (execution: Execution) => void;
}

/**
 * No further faults: everything that is open must end without help.
 *
 * @returns whether it came to a state from which the end is known to be clean
 */
export async function comeToRest(execution: Execution, policy: Policy, watcher?: Watcher): Promise<boolean> {
  if (watcher?.isClean(execution)) return true;
  execution.beginStep(new Map());
  const parked = execution.parked.splice(0);
  for (const { go } of parked) go();
  if (parked.length > 0) await execution.settle();
  if (execution.isKeyLost) await restWithoutKey(execution, policy, watcher);
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    if (respondToNext(execution, policy, watcher)) await execution.settle();
    else if (execution.nextMs() === undefined) return false;
    else await execution.pass(execution.processNamed('A'));
    if (watcher?.isClean(execution)) return true;
  }
  execution.faults.push('it does not come to rest');
  return false;
}

/**
 * Longer than a reversal waits for its next attempt, which finds that it cannot be built, and shorter than the time after which
 * every reversal is given up: the key must be missed at once.
 */
const LONGEST_WITHOUT_KEY_MS = 190_000;

/** Without the key nothing can be reversed, and a person must see that; then the key comes back. */
async function restWithoutKey(execution: Execution, policy: Policy, watcher?: Watcher): Promise<void> {
  const untilMs = execution.time.nowMs + LONGEST_WITHOUT_KEY_MS;
  while (unseen(execution).length > 0 && execution.time.nowMs < untilMs) {
    if (respondToNext(execution, policy, watcher)) await execution.settle();
    else if (execution.nextMs() === undefined) break;
    else await execution.pass(execution.processNamed('A'));
  }
  for (const id of unseen(execution))
    execution.faults.push(`${id} cannot be reversed without the key, and is not in review`);
  execution.isKeyLost = false;
}

/** Transactions that are uncertain and not in review. */
function unseen({ store }: Execution): string[] {
  return [...store.rows.values()].flatMap(({ transaction: { disposition, type, needsReview, id } }) => {
    const isOpen = disposition === null && type !== TransactionType.Void;
    return isOpen || (disposition === Disposition.Indeterminate && !needsReview) ? [id] : [];
  });
}

/** The client requests a refund of the whole sale, regardless of the books. */
export async function tryRefund(execution: Execution, policy: Policy, watcher?: Watcher): Promise<void> {
  const refund = refundOf('refund at the end', '10.00');
  if (!refund.isPossible(execution)) return;
  refund.ask(execution, execution.processNamed('B'));
  await execution.settle();
  await comeToRest(execution, policy, {
    isClean: () => false,
    differs: (isBooked) => watcher?.differs(isBooked),
    rests: () => {},
  });
}

/** A reversal that was received before the calm no longer receives a response: it is lost. */
function respondToNext(execution: Execution, policy: Policy, watcher?: Watcher): boolean {
  const request = execution.requests.find(
    ({ number, kind, isTaken }) => execution.waiting.has(number) && !(kind === 'reversal' && isTaken),
  );
  if (!request) return false;
  if (request.kind !== 'reversal') {
    take(execution, request);
    say(execution, request, '00');
    return true;
  }
  const before = execution.ledger.stateOf(request.key);
  watcher?.differs(before === 'booked');
  if (policy === 'silent') return false;
  take(execution, request);
  say(execution, request, policy === 'obliging' || before === 'booked' ? '00' : before === 'reversed' ? '57' : '25');
  return true;
}
