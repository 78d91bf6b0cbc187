import { Iso8583Error } from '../basics/errors.ts';
import { type MessageRow, messageRows } from '../codecs/iso8583/describe.ts';
import type { Spec } from '../codecs/iso8583/spec.ts';
import type { MessageCodec, Processor } from '../kits/processor-kit/processor.ts';
import type { KeptExchange } from '../store/transactions/attempt-messages.ts';
import type { StoredProcessor } from '../switching/switches/acquirer-switches.ts';
import type { MaskedMessage } from '../switching/switches/ports.ts';

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
