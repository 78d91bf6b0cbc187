import { NoConfiguration, Overloaded, RequestRejected } from '../../basics/errors.ts';
import { localDateTime } from '../../kits/processor-kit/field-dates.ts';
import { currencyOf } from '../model/money.ts';
import { switchOf } from '../model/switch-revision.ts';
import type { Transaction } from '../model/transaction.ts';
import type { PreparedRequest, Switch, Switches } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import {
  prepareSubmission,
  type ReadySubmission,
  type RequestStamp,
  type SubmissionContent,
} from '../taps/prepare-submission.ts';

/**
 * Takes a slot at the switch that approved the sale. No other switch knows the sale.
 *
 * @returns undefined if the switch cannot be reached now
 * @throws NoConfiguration if the switch is no longer configured, Overloaded if no slot becomes free in time,
 * RequestRejected if the switch takes no refunds or the card data was deleted
 */
export async function takeSaleSwitch(
  deps: Pick<TransactionDependencies, 'clock' | 'directory' | 'vault'>,
  switches: Switches,
  sale: Transaction,
  draft: Transaction,
): Promise<ReadySubmission | undefined> {
  const route = deps.directory.routes(sale.acquirerId).find(({ id }) => id === sale.routeId);
  const target = route && switches.find(sale.acquirerId, route.processorId);
  if (!target || switchOf(sale, target) === 'other') throw new NoConfiguration('NO_ROUTE');
  if (switchOf(sale, target) === 'outdated') return undefined;
  const origin = { id: draft.id, routeId: sale.routeId, tid: sale.tid!, mid: sale.mid };
  const prepared = await prepareSubmission(deps, target, origin, () => refundContent(deps, target, sale, draft));
  if (prepared === 'full') throw new Overloaded('switch');
  return prepared === 'down' ? undefined : { ...prepared, pinWait: null, next: () => Promise.resolve(undefined) };
}

function refundContent(
  deps: Pick<TransactionDependencies, 'directory' | 'vault'>,
  target: Switch,
  sale: Transaction,
  draft: Transaction,
): SubmissionContent {
  if (sale.sealedCard === null) throw new RequestRejected('CARD_DATA_DELETED');
  const { original, ...card } = deps.vault.open(sale.id, sale.sealedCard);
  return { card, build: (stamp) => prepareRefund(deps, target, draft, { ...stamp, original }) };
}

function prepareRefund(
  deps: Pick<TransactionDependencies, 'directory'>,
  target: Switch,
  draft: Transaction,
  stamp: RequestStamp & { readonly original: Readonly<Record<string, string>> },
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
