import { RESPONSE_CODES } from '#schemas/response-codes';
import type { TransactionNote } from '#schemas/transaction-note';
import type { WebhookAttemptView, WebhookEventView } from '#schemas/webhook';
import { Iso8583Error } from '../basics/errors.ts';
import { type TlvRow, tlvRows } from '../codecs/emv/describe-tlv.ts';
import { type MessageRow, messageRows } from '../codecs/iso8583/describe.ts';
import type { Spec } from '../codecs/iso8583/spec.ts';
import type { MessageCodec, Processor } from '../kits/processor-kit/processor.ts';
import type { AuditEntry } from '../payments/model/decision.ts';
import { Disposition, dispositionName } from '../payments/model/disposition.ts';
import { currencyOf, formatAmount } from '../payments/model/money.ts';
import { statusName } from '../payments/model/status.ts';
import {
  ReversalState,
  TRANSACTION_TYPE_NAMES,
  type Transaction,
  type TransactionKey,
  TransactionType,
  toldMinor,
  VoidState,
} from '../payments/model/transaction.ts';
import type { TransactionReader } from '../payments/ports/store-ports.ts';
import { leftToRefund } from '../payments/refunds/refunds.ts';
import { indexChipTags } from '../payments/taps/read-tap.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { findMessages, type KeptExchange } from '../store/transactions/attempt-messages.ts';
import { findResolutions, type ShownResolution } from '../store/transactions/review-store.ts';
import { findNotes } from '../store/transactions/transaction-notes.ts';
import type { StoredProcessor } from '../switching/switches/acquirer-switches.ts';
import type { MaskedMessage } from '../switching/switches/ports.ts';
import type { EventReader } from '../webhooks/ports.ts';

/** An exchange with its messages field by field: a row for each value, in the order on the wire. */
export interface ShownExchange extends Omit<KeptExchange, 'request' | 'response'> {
  readonly request: readonly MessageRow[];
  /** Null when no response arrived. */
  readonly response: readonly MessageRow[] | null;
  /** The masked bytes in hexadecimal; null if only the length is known. */
  readonly requestHex: string | null;
  readonly responseHex: string | null;
}

export interface MessageTables {
  readonly types: ReadonlyMap<string, Processor>;
  readonly processors: () => readonly StoredProcessor[];
}

type Dialect = MessageCodec & { readonly spec: Spec };

/** Decodes the stored messages of a transaction with the present dialect of its processor. */
export function showMessages(
  tables: MessageTables,
  acquirerId: number,
  exchanges: readonly KeptExchange[],
): ShownExchange[] {
  return exchanges.map(({ request, response, ...exchange }) => {
    const dialect = dialectOf(tables, acquirerId, exchange.processorId);
    return {
      ...exchange,
      request: request === null ? [] : rowsOf(dialect, request),
      response: response === null ? null : rowsOf(dialect, response),
      requestHex: hexOf(request),
      responseHex: hexOf(response),
    };
  });
}

function hexOf(message: MaskedMessage | null): string | null {
  return message === null || typeof message === 'number' ? null : Buffer.from(message).toString('hex').toUpperCase();
}

/** Undefined when the processor was removed or its configuration is invalid. */
function dialectOf({ types, processors }: MessageTables, acquirerId: number, processorId: number): Dialect | undefined {
  const stored = processors().find((row) => row.acquirerId === acquirerId && row.id === processorId);
  const processor = stored && types.get(stored.type);
  const checked = processor?.configSchema.safeParse(stored!.config);
  const codec = checked?.success ? processor!.codec(checked.data) : undefined;
  return codec?.spec && (codec as Dialect);
}

function rowsOf(dialect: Dialect | undefined, message: MaskedMessage): MessageRow[] {
  if (typeof message === 'number')
    return [notShown(message, 'The message could not be decoded on arrival; only its length is stored.')];
  if (dialect === undefined)
    return [notShown(message.length, 'The processor was removed, or its configuration is invalid.')];
  try {
    return messageRows(dialect.spec, dialect.decode(message));
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    return [notShown(message.length, 'The configuration of the processor has changed since then.')];
  }
}

function notShown(lengthBytes: number, why: string): MessageRow {
  const value = `[withheld, ${lengthBytes} bytes]`;
  return { path: '', depth: 0, name: 'message', type: '', value, withheld: true, details: [why] };
}

/** Each event with its deliveries; a transaction has two or three events. */
const MAX_EVENTS = 20;
const MAX_RELATED = 50;

/** The names that a summary shows. */
interface NamesOfTenants {
  merchant(acquirerId: number, merchantId: string): { readonly name: string } | undefined;
  routes(acquirerId: number): readonly { readonly id: number; readonly processorId: number }[];
}

export interface StoryParts {
  readonly database: Database;
  readonly transactions: Pick<TransactionReader, 'findOwned' | 'events'>;
  readonly directory: NamesOfTenants;
  readonly webhooks: EventReader;
  readonly tables: MessageTables;
}

/** Refunds and voids of a sale, or the sale of a refund or void. */
interface RelatedTransaction {
  readonly id: string;
  readonly type: string;
  readonly reference: string;
  /** The amount, with its currency. */
  readonly amount: string | null;
  readonly disposition: string | null;
  readonly needsReview: boolean;
}

/** All data about a transaction for the console; it contains no secret, and of the card only the masked PAN. */
export interface TransactionStory {
  readonly summary: ReturnType<typeof summaryOf>;
  readonly trail: readonly ({ readonly attempt: number } & AuditEntry)[];
  readonly messages: readonly ShownExchange[];
  readonly tlv: readonly TlvRow[];
  readonly webhooks: readonly (WebhookEventView & { readonly tries: readonly WebhookAttemptView[] })[];
  readonly related: readonly RelatedTransaction[];
  /** What people have found in the switch's books, newest first. */
  readonly resolutions: readonly ShownResolution[];
  /** What the staff of the acquirer wrote, oldest first. */
  readonly notes: readonly TransactionNote[];
}

/** Undefined when the transaction does not exist. */
export async function tellTransaction(parts: StoryParts, key: TransactionKey): Promise<TransactionStory | undefined> {
  const { database, transactions, directory } = parts;
  const transaction = await transactions.findOwned({ acquirerId: key.acquirerId }, key.id);
  if (!transaction) return undefined;
  const [events, messages, webhooks, related, resolutions, notes] = await Promise.all([
    transactions.events(transaction),
    findMessages(database, transaction),
    webhooksOf(parts, transaction),
    relatedTo(database, transaction),
    findResolutions(database, transaction),
    findNotes(database, transaction),
  ]);
  return {
    summary: summaryOf(transaction, directory),
    trail: events.flatMap(({ attempt, auditEntries }) => auditEntries.map((entry) => ({ attempt, ...entry }))),
    messages: showMessages(parts.tables, transaction.acquirerId, messages),
    tlv: tlvRows(indexChipTags(transaction.chipTags)),
    webhooks,
    related,
    resolutions,
    notes,
  };
}

async function webhooksOf({ webhooks }: StoryParts, { acquirerId, integratorId, id }: Transaction) {
  const owner = { acquirerId, integratorId };
  const events = await webhooks.list(owner, { serviceReference: id, limit: MAX_EVENTS });
  return Promise.all(
    events.map(async (event) => ({ ...event, tries: (await webhooks.attempts(owner, event.id)) ?? [] })),
  );
}

type RelatedRow = Pick<
  Transaction,
  'id' | 'type' | 'merchantReference' | 'amountMinor' | 'approvedMinor' | 'currency' | 'disposition' | 'needsReview'
>;

async function relatedTo(
  database: Database,
  { acquirerId, id, originalId }: Transaction,
): Promise<RelatedTransaction[]> {
  const text = `select id, type, merchant_reference as "merchantReference", amount_minor as "amountMinor",
      approved_minor as "approvedMinor", currency, disposition, needs_review as "needsReview" from transactions
    where acquirer_id = $1 and (original_id = $2 or id = $3) order by created_at limit ${MAX_RELATED}`;
  const { rows } = await database.query<RelatedRow>(text, [acquirerId, id, originalId]);
  return rows.map((row) => ({
    id: row.id,
    type: TRANSACTION_TYPE_NAMES[row.type],
    reference: row.merchantReference,
    amount: amountText(row, toldMinor(row)),
    disposition: nameOf(row.disposition),
    needsReview: row.needsReview,
  }));
}

function nameOf(disposition: Transaction['disposition']): string | null {
  return disposition === null ? null : dispositionName(disposition);
}

function keyOf(table: Readonly<Record<string, number>>, id: number): string {
  return Object.entries(table).find(([, value]) => value === id)?.[0] ?? String(id);
}

function summaryOf(transaction: Transaction, directory: NamesOfTenants) {
  const { acquirerId, id, merchantId, routeId, responseCode } = transaction;
  return {
    ...{ acquirerId, id, merchantId, routeId, responseCode },
    merchant: directory.merchant(acquirerId, merchantId)?.name ?? null,
    processorId: directory.routes(acquirerId).find((route) => route.id === routeId)?.processorId ?? null,
    integratorId: transaction.integratorId,
    merchantReference: transaction.merchantReference,
    attempt: transaction.attempt,
    status: statusName(transaction.status),
    disposition: nameOf(transaction.disposition),
    type: TRANSACTION_TYPE_NAMES[transaction.type],
    amount: amountText(transaction, toldMinor(transaction)),
    refunded: transaction.refundedMinor === 0 ? null : amountText(transaction, transaction.refundedMinor),
    refundable: refundableOf(transaction),
    scheme: transaction.scheme,
    maskedPan: transaction.maskedPan,
    responseText: responseCode === null ? null : (RESPONSE_CODES[responseCode] ?? null),
    authorizationCode: transaction.authorizationCode,
    errorCode: transaction.errorCode,
    ...{ xTid: transaction.xTid, tid: transaction.tid, mid: transaction.mid },
    ...{ stan: transaction.stan, rrn: transaction.rrn, userClaim: transaction.userClaim },
    deviceInstallationId: transaction.deviceInstallationId,
    originalId: transaction.originalId,
    correlationId: transaction.correlationId,
    reversal: keyOf(ReversalState, transaction.reversalState),
    reversalAttempts: transaction.reversalAttempt,
    void: transaction.voidState === null ? null : keyOf(VoidState, transaction.voidState),
    needsReview: transaction.needsReview,
    createdAt: new Date(transaction.createdAtMs).toISOString(),
    updatedAt: new Date(transaction.updatedAtMs).toISOString(),
  };
}

/** What a person may refund; the gateway also checks what this page cannot see. */
function refundableOf(transaction: Transaction): { readonly currency: string; readonly amount: string } | null {
  const { type, disposition, voidState, needsReview, currency } = transaction;
  const isSale = type !== TransactionType.Refund && type !== TransactionType.Void;
  if (!isSale || disposition !== Disposition.Approved || voidState !== null || needsReview) return null;
  const left = leftToRefund(transaction);
  return currency === null || left <= 0 ? null : { currency, amount: formatAmount(left, currencyOf(currency)) };
}

function amountText({ currency }: Pick<Transaction, 'currency'>, minor: number | null): string | null {
  return minor === null || currency === null ? null : `${currency} ${formatAmount(minor, currencyOf(currency))}`;
}
