import type1 from '../../../processors/type-1/index.ts';
import { transmissionDateTime } from '../../../src/kits/processor-kit/field-values.ts';
import { type IsoMessage, isResponseTo, messageClass } from '../../../src/kits/processor-kit/iso-fields.ts';
import { isTrusted } from '../../../src/kits/processor-kit/mac-layout.ts';
import type {
  Completion,
  Outcome,
  Purchase,
  Refund,
  Reversal,
  ReversalResponse,
} from '../../../src/kits/processor-kit/processor.ts';
import type { PreparedRequest } from '../../../src/payments/ports/switch-ports.ts';
import type { UnmatchedResponse } from '../../../src/payments/reversals/late-responses.ts';

/**
 * What the simulated gateways send and how they read responses: messages of type 1, with its own code, without the
 * bytes.
 */

type Type1Message = ReturnType<typeof type1.authorization>;

/** DE32 of acquirer 1 is 50001. */
const FIRST_INSTITUTION = 50_000;

/** A partial approval is allowed. Each acquirer has its own DE32. */
const CONFIGS = [1, 2].map((id) => ({
  ...type1.exampleConfig,
  acquirerId: String(FIRST_INSTITUTION + id),
  profile: { partialApproval: true },
}));

/** A request with its message. */
export interface DialectRequest extends PreparedRequest {
  readonly message: IsoMessage;
  readonly kind: 'sale' | 'refund';
}

/** The acquirer whose connection carries a message. */
export function acquirerOf({ acquirerId }: IsoMessage): number {
  return Number(acquirerId) - FIRST_INSTITUTION;
}

function configOf(acquirerId: number): (typeof CONFIGS)[number] {
  return CONFIGS[acquirerId - 1]!;
}

export function prepareSale(purchase: Purchase, acquirerId = 1): DialectRequest {
  return prepared(type1.authorization(purchase, configOf(acquirerId)), 'sale');
}

export function prepareRefund(refund: Refund, acquirerId = 1): DialectRequest {
  return prepared(type1.refund!(refund, configOf(acquirerId)), 'refund');
}

/** Type 1 posts automatically: a completion in the way of other types. */
export function completionMessage({ original, stan, sentAtMs, amountMinor }: Completion): IsoMessage {
  const { rrn, tid, currency } = original;
  const amount = String(amountMinor).padStart(12, '0');
  return { mti: '0220', stan, rrn, tid, currency, amount, transmissionDateTime: transmissionDateTime(sentAtMs) };
}

export function isCompletionTaken(response: IsoMessage): boolean {
  return isTrusted(response) && response.mti === '0230' && response.responseCode === '00';
}

export function reversalMessage(reversal: Reversal): IsoMessage {
  return type1.reversal(reversal, configOf(1));
}

function prepared(message: Type1Message, kind: DialectRequest['kind']): DialectRequest {
  return { message, kind, original: type1.originalData(message) };
}

export function readOutcome(response: IsoMessage, request: IsoMessage): Outcome {
  return type1.readOutcome(response as Type1Message, request as Type1Message);
}

/** Undefined for an untrusted response: src/switching/switches/switch-slot.ts treats it as garbled. */
export function readReversalResponse(response: IsoMessage): ReversalResponse | undefined {
  return isTrusted(response) ? type1.readReversalResponse(response as Type1Message) : undefined;
}

const REVERSAL_CLASS = '4';

/** A response without a waiting request, as src/switching/switches/received-messages.ts passes it on; undefined if it does not. */
export function unmatchedOf(response: IsoMessage): UnmatchedResponse | undefined {
  const identity = {
    acquirerId: acquirerOf(response),
    processorId: 1,
    stan: String(response.stan),
    tid: String(response.tid),
    rrn: response.rrn as string | undefined,
    transmissionDateTime: response.transmissionDateTime as string | undefined,
  };
  if (messageClass(response) === REVERSAL_CLASS) {
    const read = readReversalResponse(response);
    return read && { ...identity, response: read };
  }
  return {
    ...identity,
    read: (original) => {
      const request: IsoMessage = { ...original, mti: original.mti ?? '' };
      return isResponseTo(response, request) ? readOutcome(response, request) : undefined;
    },
  };
}
