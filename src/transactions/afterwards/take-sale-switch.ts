import { NoConfiguration, Overloaded, RequestRejected } from '../../errors.ts';
import { localDateTime } from '../../processor-kit/local-time.ts';
import { retrievalReference } from '../../processor-kit/rrn.ts';
import { currencyOf } from '../model/money.ts';
import { SEND_WITHIN_MS } from '../model/time-limits.ts';
import type { Transaction } from '../model/transaction.ts';
import type { PreparedRequest, Switch, Switches, SwitchSlot } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { ReadySubmission } from '../tap/take-route.ts';

/**
 * Takes a slot at the switch that approved the sale. No other switch knows the sale.
 *
 * @returns undefined if the switch cannot be reached now
 * @throws NoConfiguration if the switch is no longer configured, Overloaded if no slot becomes free in time,
 * RequestRejected if the switch takes no refunds or the card data was deleted
 */
export async function takeSaleSwitch(
  deps: TransactionDependencies,
  switches: Switches,
  sale: Transaction,
  draft: Transaction,
): Promise<ReadySubmission | undefined> {
  const route = deps.directory.routes(sale.acquirerId).find(({ id }) => id === sale.routeId);
  const target = route && switches.find(sale.acquirerId, route.processorId);
  if (!target) throw new NoConfiguration('NO_ROUTE');
  const slot = await target.takeSlot();
  if (!slot) {
    if (target.isFull) throw new Overloaded();
    return undefined;
  }
  try {
    const ready = await prepare(deps, target, slot, sale, draft);
    if (!ready) slot.release(); // the business day of the switch has no STAN left
    return ready;
  } catch (error) {
    slot.release();
    throw error;
  }
}

async function prepare(
  deps: TransactionDependencies,
  target: Switch,
  slot: SwitchSlot,
  sale: Transaction,
  draft: Transaction,
): Promise<ReadySubmission | undefined> {
  if (sale.sealedCard === null) throw new RequestRejected('CARD_DATA_DELETED');
  const { pan, expiry, original } = deps.vault.open(sale.id, sale.sealedCard);
  const stan = await target.nextStan(sale.tid!);
  if (stan === undefined) return undefined;
  const sentAtMs = deps.clock.nowMs();
  const rrn = retrievalReference(sentAtMs, stan);
  const request = prepareMessage(deps, target, draft, { stan, rrn, sentAtMs, original });
  const startMs = deps.clock.monotonicMs();
  const { deadlineMs } = target.profile;
  return {
    submission: {
      routeId: sale.routeId,
      tid: sale.tid,
      mid: sale.mid,
      stan,
      rrn,
      sentAtMs,
      deadlineSeconds: deadlineMs / 1000,
      overdueJob: null,
      sealedCard: deps.vault.seal(draft.id, { pan, expiry, original: request.original }),
    },
    request,
    slot,
    pinWait: null,
    deadlineMs: startMs + deadlineMs,
    sendByMs: startMs + Math.min(SEND_WITHIN_MS, deadlineMs),
    next: () => Promise.resolve(undefined),
  };
}

interface RefundStamp {
  readonly stan: string;
  readonly rrn: string;
  readonly sentAtMs: number;
  readonly original: Readonly<Record<string, string>>;
}

function prepareMessage(
  deps: TransactionDependencies,
  target: Switch,
  draft: Transaction,
  stamp: RefundStamp,
): PreparedRequest {
  const merchant = deps.directory.merchant(draft.acquirerId, draft.merchantId);
  const { code, numeric } = currencyOf(draft.currency!);
  const request = target.prepareRefund({
    ...stamp,
    localDateTime: localDateTime(stamp.sentAtMs, merchant?.timeZone ?? 'UTC'),
    amount: { amountMinor: draft.amountMinor!, currency: code, currencyNumeric: numeric },
  });
  if (!request) throw new RequestRejected('REFUNDS_UNSUPPORTED');
  return request;
}
