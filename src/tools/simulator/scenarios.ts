import { z } from 'zod';
import { SimulatorError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import type { IsoMessage, Processor, SimulatedRequest, SwitchConfig } from '../../kits/processor-kit/index.ts';

/**
 * The behaviour of the simulated switch, selected by the amount, so that any client can control it. Amounts are in
 * minor units, read as hundredths for every currency. A specific row takes precedence over the rule that the last
 * two digits are the response code.
 */
export type Scenario =
  /** Responds at once with this code; 00 approves. */
  | { readonly kind: 'response'; readonly responseCode: string }
  /** Requests a PIN if the request has no PIN; otherwise the PIN decides. */
  | { readonly kind: 'pin' }
  | { readonly kind: 'silence' }
  /** Approves after the deadline of the acquirer. */
  | { readonly kind: 'late' }
  /** Approves after this time, multiplied by `timeScale`. */
  | { readonly kind: 'slow'; readonly afterMs: number }
  /** Approves, and responds with a frame that is not a message. */
  | { readonly kind: 'garbage' }
  /** Approves, writes half of the response and closes the connection. */
  | { readonly kind: 'disconnect' }
  /** Approves and responds twice. */
  | { readonly kind: 'duplicate' }
  /** Approves, then leaves this many reversals without a response. */
  | { readonly kind: 'deafToReversals'; readonly times: number }
  | { readonly kind: 'otherAmount' }
  | { readonly kind: 'otherStan' }
  | { readonly kind: 'badMac' }
  /** Approves this part of the amount; half of it by default, or if the part is not smaller than the amount. */
  | { readonly kind: 'partial'; readonly approvedMinor?: number | undefined }
  /** Approves, closes every connection and refuses new ones for this time, multiplied by `timeScale`. */
  | { readonly kind: 'outage'; readonly forMs: number };

const APPROVED: Scenario = { kind: 'response', responseCode: '00' };

/** Amounts with a meaning of their own. */
const BY_AMOUNT: ReadonlyMap<number, Scenario> = new Map<number, Scenario>([
  [50_05, { kind: 'pin' }],
  [10_10, { kind: 'slow', afterMs: 10_000 }],
  [20_20, { kind: 'slow', afterMs: 20_000 }],
  [30_30, { kind: 'slow', afterMs: 30_000 }],
  [503_00, { kind: 'outage', forMs: 10_000 }],
]);

/** Last two digits that are not a plain response code. */
const BY_CENTS: ReadonlyMap<number, Scenario> = new Map<number, Scenario>([
  [0, APPROVED],
  [65, { kind: 'pin' }],
  [68, { kind: 'late' }],
  [69, { kind: 'silence' }],
  [85, { kind: 'partial' }],
  [86, { kind: 'badMac' }],
  [87, { kind: 'otherStan' }],
  [88, { kind: 'otherAmount' }],
  [89, { kind: 'deafToReversals', times: 2 }],
  [97, { kind: 'garbage' }],
  [98, { kind: 'disconnect' }],
  [99, { kind: 'duplicate' }],
]);

/** Every other ending is its own response code: 10.51 gets the response 51. Built once instead of per request. */
const BY_CODE: readonly Scenario[] = Array.from({ length: 100 }, (_, cents) => ({
  kind: 'response',
  responseCode: String(cents).padStart(2, '0'),
}));

export function scenarioOf(amountMinor: number): Scenario {
  const cents = amountMinor % 100;
  return BY_AMOUNT.get(amountMinor) ?? BY_CENTS.get(cents) ?? BY_CODE[cents] ?? APPROVED;
}

/** An hour of a busy switch; each line takes a few hundred bytes of memory. */
const MAX_LINES = 200_000;
/** The longest message of any dialect, in hex. */
const MAX_HEX_CHARS = 2 * 16_384;
/** Nothing in a recording waits longer: a gateway gives up before. */
const MAX_TOOK_MS = 600_000;

const hex = z
  .string()
  .max(MAX_HEX_CHARS)
  .regex(/^(?:[0-9A-Fa-f]{2})+$/, 'hex');

/** A line of a recording, as `tapwire processor record` prints it. */
const recordedLine = z.object({
  /** The processor type. */
  type: z.string().max(32),
  /** Message without header, card data masked. */
  request: hex,
  /** Null if none came. */
  response: hex.nullable(),
  tookMs: z.int().min(0).max(MAX_TOOK_MS),
});

/** What a switch did with a recorded payment or refund. */
export interface RecordedResponse {
  /** Only kinds whose response comes from the recording. */
  readonly kind: 'authorization' | 'refund';
  readonly amountMinor: number;
  readonly currencyNumeric: string;
  readonly scenario: Scenario;
  readonly delayMs: number;
}

/**
 * Reads recorded traffic of one processor type. Lines of other types, and of messages that are neither payments nor
 * refunds, are left out.
 *
 * @throws SimulatorError RECORDING_INVALID with the number of the line; never with its content
 */
export function readRecording(text: string, processor: Processor, config: SwitchConfig): RecordedResponse[] {
  const lines = text.split('\n');
  if (lines.length > MAX_LINES) throw new SimulatorError('RECORDING_INVALID', `more than ${MAX_LINES} lines`);
  const codec = processor.codec(config);
  const decode = (bytes: string): IsoMessage => codec.decode(fromHex(bytes));
  const responses: RecordedResponse[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const { type, request, response, tookMs } = parse(line, index);
    if (type !== processor.type) continue;
    try {
      const asked = decode(request);
      const { kind, amountMinor, currencyNumeric } = processor.readRequest(asked);
      if (kind !== 'authorization' && kind !== 'refund') continue;
      const scenario: Scenario =
        response === null ? { kind: 'silence' } : scenarioIn(processor, decode(response), asked, amountMinor);
      responses.push({ kind, amountMinor, currencyNumeric, scenario, delayMs: tookMs });
    } catch (cause) {
      const reason = `line ${index + 1}: not a message of ${processor.type}`;
      throw new SimulatorError('RECORDING_INVALID', reason, { cause });
    }
  }
  return responses;
}

function parse(line: string, index: number): z.output<typeof recordedLine> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new SimulatorError('RECORDING_INVALID', `line ${index + 1}: not JSON`);
  }
  const checked = recordedLine.safeParse(value);
  if (checked.success) return checked.data;
  const faults = checked.error.issues.map(({ path, message }) => `${path.join('.') || 'line'}: ${message}`);
  throw new SimulatorError('RECORDING_INVALID', `line ${index + 1}: ${faults.slice(0, 3).join(', ')}`);
}

/** Approved for a part of the amount (7.5 of the interface). */
const PARTIAL = '10';

/** A response without a code that the type can send again is garbage for the acquirer, too. */
function scenarioIn(processor: Processor, response: IsoMessage, request: IsoMessage, amountMinor: number): Scenario {
  const { kind, responseCode } = processor.readOutcome(response, request);
  if (kind === 'pinRequired') return { kind: 'pin' };
  // The field in which a request allows this can be masked, so that its outcome is not that of the recorded payment.
  if (responseCode === PARTIAL) {
    const approvedMinor = Number(response[processor.profile.amountField]);
    return { kind: 'partial', approvedMinor: approvedMinor < amountMinor ? approvedMinor : undefined };
  }
  return canSend(processor, request, responseCode) ? { kind: 'response', responseCode } : { kind: 'garbage' };
}

function canSend(processor: Processor, request: IsoMessage, responseCode: string): boolean {
  try {
    const sent = processor.simulate(request, { responseCode });
    return responseCode !== '' && processor.readOutcome(sent, request).responseCode === responseCode;
  } catch {
    return false;
  }
}

/**
 * Recorded responses in their order: those to the same amount, and for an amount that was not recorded those to any.
 * After the last one, the first follows again.
 */
export class Replay {
  readonly #byAmount = new Map<string, RecordedResponse[]>();
  readonly #next = new Map<string, number>();

  constructor(responses: readonly RecordedResponse[]) {
    for (const response of responses) for (const name of namesOf(response)) this.#listOf(name).push(response);
  }

  /** The response to a payment or refund; undefined if no message of its kind was recorded. */
  next({ kind, amountMinor, currencyNumeric }: SimulatedRequest): RecordedResponse | undefined {
    for (const name of namesOf({ kind, amountMinor, currencyNumeric })) {
      const responses = this.#byAmount.get(name);
      if (responses === undefined) continue;
      const at = this.#next.get(name) ?? 0;
      this.#next.set(name, (at + 1) % responses.length);
      return responses[at];
    }
    return undefined;
  }

  #listOf(name: string): RecordedResponse[] {
    const known = this.#byAmount.get(name) ?? [];
    this.#byAmount.set(name, known);
    return known;
  }
}

/** The specific name first. */
function namesOf({
  kind,
  amountMinor,
  currencyNumeric,
}: Pick<SimulatedRequest, 'kind' | 'amountMinor' | 'currencyNumeric'>) {
  return [`${kind} ${amountMinor} ${currencyNumeric}`, kind];
}
