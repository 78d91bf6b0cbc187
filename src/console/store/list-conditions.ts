import type { ListPosition, TransactionListFilter } from '#schemas/console-transactions';
import { Disposition } from '../../payments/model/disposition.ts';
import { OPEN_REVERSAL_STATES, TransactionType, type TransactionTypeId } from '../../payments/model/transaction.ts';
import { AMOUNT_MAJOR } from '../../store/transactions/list-transactions.ts';

interface WantedValues {
  readonly id: string;
  readonly correlationId: string;
  readonly reference: string;
  readonly rrn: string;
  readonly stan: string;
  readonly stanAndTerminal: { readonly stan: string; readonly terminal: string };
  readonly maskedPan: string;
  readonly lastFour: string;
  readonly panHash: readonly string[];
  readonly amount: { readonly major: string; readonly currency: string | undefined };
  readonly merchantName: string;
}
type WantedBy<By extends keyof WantedValues> = { readonly by: By; readonly value: WantedValues[By] };

/** A meaning of a search term. Of a card there are only hashes of the PAN that the person typed. */
export type Wanted = { [By in keyof WantedValues]: WantedBy<By> }[keyof WantedValues];

export type ListFilter = Omit<TransactionListFilter, 'q' | 'acquirer'>;

/** Adds a value to a statement. @returns its parameter: `$3` */
export type AddParameter = (value: unknown) => string;

/**
 * No index has these, because an index would slow down every tap. They are searched within a period (`SEARCHED_DAYS`
 * unless the person chooses another).
 */
const WITHOUT_INDEX: ReadonlySet<Wanted['by']> = new Set([
  'correlationId',
  'rrn',
  'stan',
  'stanAndTerminal',
  'maskedPan',
  'lastFour',
  'panHash',
] as const);

/** Whether the rows must be read one after the other, so that the period must be limited. */
export function needsPeriod(filter: ListFilter, wanted: readonly Wanted[]): boolean {
  const { type, outcome, terminal, scheme, processor, min, max } = filter;
  // Most transactions are sales, so a page of them is found at once.
  const isRareType = type !== undefined && type !== 'sale';
  const isScan =
    isRareType || outcome === 'open' || [terminal, scheme, processor, min, max].some((value) => value !== undefined);
  return (isScan && !wanted.some(({ by }) => by === 'id')) || wanted.some(({ by }) => WITHOUT_INDEX.has(by));
}

/** The conditions of the filter on a row `t`, without its acquirer. */
export function filterConditions(filter: ListFilter, add: AddParameter): string[] {
  const { type, outcome, merchant, terminal, scheme, processor, min, max, from, to, attention } = filter;
  const given: (string | undefined)[] = [
    type && `t.type in (${TYPES[type].join()})`,
    outcome && OUTCOMES[outcome],
    merchant === undefined ? undefined : `t.merchant_id = ${add(merchant)}`,
    terminal === undefined ? undefined : isTerminal(add(terminal)),
    scheme === undefined ? undefined : `t.scheme = ${add(scheme)}`,
    processor && routesOf(add(processor.acquirer), add(processor.id)),
    min === undefined ? undefined : `${AMOUNT_MAJOR} >= ${add(min)}::numeric`,
    max === undefined ? undefined : `${AMOUNT_MAJOR} <= ${add(max)}::numeric`,
    from && `t.created_at >= ${add(from)}`,
    to && `t.created_at < ${add(to)}`,
    attention && ATTENTION[attention],
  ];
  return given.filter((condition) => condition !== undefined);
}

const TYPES: Readonly<Record<NonNullable<ListFilter['type']>, readonly TransactionTypeId[]>> = {
  sale: [TransactionType.Tap, TransactionType.SecureCardReader],
  refund: [TransactionType.Refund],
  void: [TransactionType.Void],
  mandate: [TransactionType.TT3],
};

// Outcomes other than Approved have indexes on this column (0001_schema.sql).
const other = (disposition: number) => `t.other_disposition = ${disposition}`;

const OUTCOMES: Readonly<Record<NonNullable<ListFilter['outcome']>, string>> = {
  approved: `t.disposition = ${Disposition.Approved}`,
  declined: other(Disposition.Declined),
  declinedOffline: other(Disposition.DeclinedOffline),
  unableToGoOnline: other(Disposition.UnableToGoOnline),
  indeterminate: other(Disposition.Indeterminate),
  voided: other(Disposition.Voided),
  open: 't.disposition is null',
};

// Partial indexes contain these.
const ATTENTION: Readonly<Record<NonNullable<ListFilter['attention']>, string>> = {
  review: 't.needs_review',
  reversal: `t.reversal_state in (${OPEN_REVERSAL_STATES.join()})`,
};

function isTerminal(value: string): string {
  return `(t.x_tid = ${value} or t.tid = ${value})`;
}

/** Routes remain after their removal, because transactions name them. */
function routesOf(acquirer: string, processor: string): string {
  const routes = `select id from routes where acquirer_id = ${acquirer} and processor_id = ${processor}`;
  return `t.acquirer_id = ${acquirer} and t.route_id = any(array(${routes}))`;
}

type ByCondition = Exclude<Wanted, { by: 'merchantName' }>;
type Conditions = { readonly [By in ByCondition['by']]: (value: WantedValues[By], add: AddParameter) => string };

const CONDITIONS: Conditions = {
  id: (value, add) => `t.id = ${add(value)}::uuid`,
  correlationId: (value, add) => `t.correlation_id = ${add(value)}::uuid`,
  reference: (value, add) => ofReference(add(value)),
  rrn: (value, add) => `t.rrn = ${add(value)}`,
  stan: (value, add) => `t.stan = ${add(value)}`,
  stanAndTerminal: ({ stan, terminal }, add) => `t.stan = ${add(stan)} and ${isTerminal(add(terminal))}`,
  maskedPan: (value, add) => `t.masked_pan = ${add(value)}`,
  lastFour: (value, add) => `right(t.masked_pan, 4) = ${add(value)}`,
  panHash: (value, add) => `t.pan_hash = any(${add(value)})`,
  amount: ({ major, currency }, add) => {
    const ofCurrency = currency === undefined ? '' : ` and t.currency = ${add(currency)}`;
    return `${AMOUNT_MAJOR} = ${add(major)}::numeric${ofCurrency}`;
  },
};

/** The condition of a search term on a row `t`. A merchant's name is not among them: it selects merchants. */
export function wantedCondition({ by, value }: ByCondition, add: AddParameter): string {
  return CONDITIONS[by](value as never, add);
}

/** A reference is unique within a merchant, so its index requires the merchants. `own` has the acquirer. */
function ofReference(value: string): string {
  const merchants = 'select id from merchants where acquirer_id = own.acquirer_id';
  return `t.id = any(array(select r.id from merchant_references r
    where r.acquirer_id = own.acquirer_id and r.merchant_reference = ${value} and r.merchant_id = any(array(${merchants}))))`;
}

/** Rows before (older than) or after (newer than) a position in the list. */
export function besidePosition(side: '<' | '>', { micros, id }: ListPosition, add: AddParameter): string {
  const at = `'epoch'::timestamptz + ${add(micros)}::bigint * interval '1 microsecond'`;
  return `(t.created_at, t.id) ${side} (${at}, ${add(id)}::uuid)`;
}
