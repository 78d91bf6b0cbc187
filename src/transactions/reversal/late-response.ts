import type { OriginalData, Outcome } from '../../processor-kit/processor.ts';
import type { LateFacts, ResponseIdentity } from '../ports.ts';
import type { Transaction } from '../transaction.ts';
import type { World } from '../world.ts';
import { rearmStep } from './reversal-steps.ts';

/**
 * A response that no request in this process waits for: it may have come after its deadline, after a restart, or to another
 * worker than the one that asked.
 */
export interface StrayResponse extends ResponseIdentity {
  /** What it means to the request whose kept data these are; undefined when it answers another kind of message. */
  readonly read: (original: OriginalData) => Outcome | undefined;
}

/** `late`: recorded now. `duplicate`: the same was recorded before. `unknown`: it answers nothing that is uncertain. */
export type StrayKind = 'late' | 'duplicate' | 'unknown';

/** A reversal that steps on each time its row is looked at is a row that others work on: they will see the response again. */
const MOST_TRIES = 3;

/**
 * Records responses that came too late, and lets them re-arm reversals. Late is what answers a transaction whose outcome is
 * uncertain, or was; its disposition stays as it is.
 *
 * @returns what each one was, in order
 */
export async function settleStrays(
  world: Pick<World, 'store' | 'vault' | 'clock'>,
  strays: readonly StrayResponse[],
): Promise<StrayKind[]> {
  const found = await world.store.findUncertain(strays);
  const firsts = new Map<string, Promise<StrayKind>>();
  return Promise.all(
    strays.map((stray, index) => {
      const transaction = found[index];
      const late = transaction && readLate(world, transaction, stray);
      if (!late) return 'unknown';
      // A switch that repeats itself a thousand times costs one commit.
      const answer = [transaction.id, late.kind, late.responseCode, late.authorizationCode].join(' ');
      const first = firsts.get(answer);
      if (first) return first.then((kind) => (kind === 'late' ? 'duplicate' : kind));
      const recording = recordLate(world, transaction, late);
      firsts.set(answer, recording);
      return recording;
    }),
  );
}

/** Records a late response of an uncertain transaction; the reversal may have taken a step meanwhile. */
export async function recordLate(
  world: Pick<World, 'store' | 'clock'>,
  found: Transaction,
  late: LateFacts,
): Promise<StrayKind> {
  let transaction: Transaction | undefined = found;
  for (let tries = 0; transaction?.attempt === found.attempt && tries < MOST_TRIES; tries++) {
    const nowMs = world.clock.nowMs();
    const rearm = rearmStep(transaction, late, nowMs);
    const outcome = await world.store.recordLate({ transaction, late, rearm, nowMs });
    if (outcome !== 'moved') return outcome === 'recorded' ? 'late' : 'duplicate';
    transaction = await world.store.find(transaction);
  }
  return 'unknown';
}

/** What a stray response says to the transaction that it was found to answer; undefined when it does not answer it. */
function readLate(
  { vault }: Pick<World, 'vault'>,
  { id, sealedCard }: Transaction,
  { read }: StrayResponse,
): LateFacts | undefined {
  let outcome: Outcome | undefined;
  try {
    outcome = sealedCard === null ? undefined : read(vault.open(id, sealedCard).original);
  } catch {
    // The card's key is gone, or the processor trips over the response. The others of its batch must not suffer.
    return { kind: 'unknown', responseCode: '', authorizationCode: '' };
  }
  return outcome && lateFactsOf(outcome);
}

/**
 * What a late response says. What cannot be read for certain (a bad MAC, a code in no table) may have been an approval, so
 * it re-arms like one; but only an approval that is beyond doubt gives its DE38.
 */
export function lateFactsOf({ kind, responseCode, authorizationCode = '' }: Outcome): LateFacts {
  if (kind === 'approved') return { kind, responseCode, authorizationCode };
  return { kind: kind === 'unknown' ? 'unknown' : 'declined', responseCode, authorizationCode: '' };
}
