import { Iso8583Error, NoConfiguration, StoreUnavailable, TapRefused } from '../errors.ts';
import { localDateTime } from '../processor-kit/local-time.ts';
import type { Purchase } from '../processor-kit/processor.ts';
import { retrievalReference } from '../processor-kit/rrn.ts';
import { awaitOutcome } from './await-outcome.ts';
import { chooseRoutes } from './choose-route.ts';
import type { Draft } from './draft.ts';
import type {
  PreparedRequest,
  PurchaseAnswer,
  Switch,
  SwitchAnswer,
  Switches,
  SwitchSlot,
  TerminalRecord,
} from './ports.ts';
import type { ReadTap } from './read-tap.ts';
import { type SwitchEvent, settleOutcome } from './settle-outcome.ts';
import { SEND_WITHIN_MS } from './time-limits.ts';
import { ReversalState, type Submission, type Transaction } from './transaction.ts';
import { withWebhook } from './webhook-job.ts';
import type { World } from './world.ts';

/** Everything that a submission commits, and the slot that its bytes will take. */
export interface ReadySubmission {
  readonly submission: Submission & Pick<Transaction, 'sealedCard'>;
  readonly request: PreparedRequest;
  readonly slot: SwitchSlot;
  /** On the monotonic clock, counted from before the commit: never later than the database's own deadline. */
  readonly deadlineMs: number;
  readonly sendByMs: number;
}

/**
 * Finds the first route whose switch has a place, takes the place and builds the message.
 *
 * @returns undefined when no switch can take it now; NoConfiguration when no route or terminal fits at all; TapRefused when
 *   a value of the card fits no field of the switch's
 */
export async function takeRoute(
  world: World,
  switches: Switches,
  draft: Draft,
  tap: ReadTap,
): Promise<ReadySubmission | NoConfiguration | TapRefused | undefined> {
  const { acquirerId, xTid } = draft.transaction;
  const terminal = xTid === null ? undefined : world.directory.terminal(acquirerId, xTid);
  if (!terminal) return new NoConfiguration('NO_TERMINAL');
  const question = { currency: tap.currency.code, scheme: tap.facts.scheme, xTid: terminal.xTid };
  const routes = chooseRoutes(world.directory.routes(acquirerId), question);
  if (routes.length === 0) return new NoConfiguration('NO_ROUTE');
  for (const route of routes) {
    const target = switches.find(acquirerId, route.processorId);
    const slot = await target?.takeSlot();
    if (!target || !slot) continue;
    try {
      return await prepareSubmission(world, { draft, tap, terminal, routeId: route.id, target, slot });
    } catch (error) {
      slot.release();
      if (!(error instanceof Iso8583Error)) throw error;
      // What the directory adds has limits of its own: so it is the card's.
      return new TapRefused('/paymentCardData', 'VALUE_MALFORMED', 202, { cause: error });
    }
  }
  return undefined;
}

interface Chosen {
  readonly draft: Draft;
  readonly tap: ReadTap;
  readonly terminal: TerminalRecord;
  readonly routeId: number;
  readonly target: Switch;
  readonly slot: SwitchSlot;
}

async function prepareSubmission(world: World, chosen: Chosen): Promise<ReadySubmission> {
  const { draft, terminal, routeId, target, slot } = chosen;
  const stan = await target.nextStan(terminal.tid);
  const sentAtMs = world.clock.nowMs();
  const purchase = buildPurchase(chosen, stan, sentAtMs);
  const request = target.prepare(purchase);
  const startMs = world.clock.monotonicMs();
  const { pan, expiry } = purchase.card;
  return {
    submission: {
      routeId,
      tid: terminal.tid,
      mid: terminal.mid,
      stan,
      rrn: purchase.rrn,
      sentAtMs,
      deadlineSeconds: target.profile.deadlineMs / 1000,
      overdueJob: null,
      sealedCard: world.vault.seal(draft.transaction.id, { pan, expiry, original: request.original }),
    },
    request,
    slot,
    deadlineMs: startMs + target.profile.deadlineMs,
    sendByMs: startMs + Math.min(SEND_WITHIN_MS, target.profile.deadlineMs),
  };
}

function buildPurchase({ draft, tap, terminal }: Chosen, stan: string, sentAtMs: number): Purchase {
  const { merchant } = draft;
  const { card, chip, currency, amountMinor, facts } = tap;
  return {
    stan,
    rrn: retrievalReference(sentAtMs, stan),
    sentAtMs,
    localDateTime: localDateTime(sentAtMs, merchant.timeZone),
    amount: { amountMinor, currency: currency.code, currencyNumeric: currency.numeric },
    card: {
      pan: card.pan,
      expiry: card.expiry ?? '',
      track2: card.track2?.text('D'),
      panSequence: card.sequenceNumber,
      scheme: facts.scheme ?? '',
    },
    chip,
    terminal,
    merchant,
  };
}

/**
 * Sends a committed submission and commits what came of it. Whoever loses the compare-and-set tells what the winner
 * stored.
 */
export async function authorize(world: World, transaction: Transaction, ready: ReadySubmission): Promise<Transaction> {
  const answer = await ready.slot.authorize(ready.request, ready);
  const nowMs = world.clock.nowMs();
  const settlement = withWebhook(world, transaction, settleOutcome(transaction, eventOf(answer), nowMs), nowMs);
  if (settlement.result.reversalState === ReversalState.owed)
    world.originals.remember(transaction.id, ready.slot.connectionId);
  const isCommitted = await world.store
    .settle({ transaction, settlement, isOverdue: false, nowMs })
    .catch(afterSubmission);
  world.wakeups.announce(transaction);
  if (isCommitted) return { ...transaction, ...settlement.result, status: settlement.status, updatedAtMs: nowMs };
  return awaitOutcome(world, transaction);
}

/** Whatever the database did not take: the tap itself is stored, and its `overdue` job will decide. */
function afterSubmission(cause: unknown): never {
  throw cause instanceof StoreUnavailable ? new StoreUnavailable(true, { cause }) : cause;
}

function eventOf(answer: SwitchAnswer<PurchaseAnswer>): SwitchEvent {
  switch (answer.kind) {
    case 'answered':
      return { kind: 'answered', ...answer.value };
    case 'garbled':
      return { kind: 'garbled' };
    case 'failed':
      return { kind: answer.written ? 'unanswered' : 'unsent' };
  }
}
