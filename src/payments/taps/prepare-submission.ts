import { localDateTime, retrievalReference } from '../../kits/processor-kit/field-values.ts';
import type { PinWait } from '../decisions/pin-step.ts';
import { SEND_WITHIN_MS } from '../model/time-limits.ts';
import type { Submission, Transaction } from '../model/transaction.ts';
import type { Directory } from '../ports/directory-ports.ts';
import type { SingleUse } from '../ports/store-ports.ts';
import type { PreparedRequest, SendTiming, Switch, SwitchSlot, TakenStan } from '../ports/switch-ports.ts';
import type { Clock, TransactionDependencies } from '../ports/transaction-dependencies.ts';

/**
 * Everything that a submission commits, and the slot for its bytes. Its times count from before the commit, so they are
 * never later than the deadline in the database.
 */
export interface ReadySubmission extends SendTiming {
  readonly submission: Submission & Pick<Transaction, 'sealedCard'>;
  readonly request: PreparedRequest;
  readonly slot: SwitchSlot;
  readonly processorType: string;
  /**
   * Instead of the use of the slot: releases it.
   *
   * @param isUnstored whether the numbers are certainly in no row: then another message gets the STAN
   */
  readonly withdraw: (isUnstored: boolean) => void;
  /** How to await a PIN; null if none can be taken. */
  readonly pinWait: PinWait | null;
  /** The PIN block of the message, which no other attempt may have. */
  readonly uses?: readonly SingleUse[] | undefined;
  /** The same on the next route whose switch has a free slot; undefined if no route is left. */
  readonly next: () => Promise<ReadySubmission | undefined>;
}

/** Whether a switch can take the submission, and there is no reason against it. */
export function isReady(taken: object): taken is ReadySubmission {
  return 'slot' in taken;
}

/** A submission that one switch can take; the use case adds its PIN block, how to await a PIN, and what to try next. */
export type PreparedSubmission = Omit<ReadySubmission, 'pinWait' | 'uses' | 'next'>;

/** What the switch is to be asked, and by whom. */
export interface SubmissionOrigin extends Pick<Transaction, 'id' | 'routeId' | 'mid'> {
  readonly tid: string;
}

/** The numbers that identify a request, and its time. */
export interface RequestStamp {
  readonly stan: string;
  readonly rrn: string;
  readonly sentAtMs: number;
}

/** The local time of a transaction's merchant, for its messages after the sale; that of UTC if the merchant is unknown. */
export function merchantTime(
  directory: Pick<Directory, 'merchant'>,
  { acquirerId, merchantId }: Transaction,
  atMs: number,
): string {
  return localDateTime(atMs, directory.merchant(acquirerId, merchantId)?.timeZone ?? 'UTC');
}

/** The times of a message that is to be sent from now on. */
export function timingFrom(clock: Pick<Clock, 'monotonicMs'>, { profile }: Switch): SendTiming {
  const startedAtMs = clock.monotonicMs();
  return { deadlineAtMs: startedAtMs + profile.deadlineMs, sendByAtMs: startedAtMs + SEND_WITHIN_MS };
}

export interface SubmissionContent {
  /** The card to keep sealed for a later reversal or refund. */
  readonly card: { readonly pan: string; readonly expiry: string };
  readonly build: (stamp: RequestStamp) => PreparedRequest;
}

/**
 * Takes a slot, numbers the request and builds its message once, so that a value that cannot be encoded is found
 * before anything is committed. After a failure, the slot is released and another message gets the STAN. After a success, the
 * caller either sends the request or withdraws it.
 *
 * @param readContent called once there is a slot
 * @returns `full` if the switch can be reached but no slot becomes free in time; `down` if it cannot be reached, or
 * its business day has no STAN left
 * @throws the errors of `readContent`, `build`, the STANs and the vault
 */
export async function prepareSubmission(
  { clock, vault }: TransactionDependencies,
  target: Switch,
  { id, routeId, tid, mid }: SubmissionOrigin,
  readContent: () => SubmissionContent,
): Promise<PreparedSubmission | 'full' | 'down'> {
  const slot = await target.takeSlot();
  if (!slot) return target.isFull ? 'full' : 'down';
  let isReady = false;
  let taken: TakenStan | undefined;
  try {
    const { card, build } = readContent();
    taken = await target.nextStan(tid);
    if (taken === undefined) return 'down';
    const { stan, putBack } = taken;
    const sentAtMs = clock.nowMs();
    const rrn = retrievalReference(taken.rrnAtMs(sentAtMs), stan);
    const request = build({ stan, rrn, sentAtMs });
    const timing = timingFrom(clock, target);
    const sealedCard = vault.seal(id, { ...card, original: request.original });
    const switchRevision = target.revision?.number || null;
    const numbers = { routeId, switchRevision, tid, mid, stan, rrn, sentAtMs };
    isReady = true;
    return {
      submission: { ...numbers, deadlineSeconds: target.profile.deadlineMs / 1000, sealedCard },
      request,
      slot,
      processorType: target.type,
      withdraw: (isUnstored) => {
        slot.release();
        if (isUnstored) putBack();
      },
      ...timing,
    };
  } finally {
    if (!isReady) {
      slot.release();
      taken?.putBack();
    }
  }
}
