import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { encodeTlv, indexTlv } from '../../../codecs/emv/tlv.ts';
import { localDateTime, retrievalReference } from '../field-values.ts';
import type { IsoMessage } from '../iso-fields.ts';
import type { MessageCodec, Outcome, Processor, SimulatedResponse, SwitchConfig } from '../processor.ts';
import { meaningOf } from '../profile.ts';
import type { Card, ChipData, Purchase } from '../purchase.ts';

/** What a check works with: the processor, a valid configuration, and the codec of that dialect. */
export interface Subject {
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly codec: MessageCodec;
}

/** One statement about a processor; `run` throws if it does not hold. */
export interface Check {
  readonly name: string;
  run(subject: Subject): void;
}

/** The message as bytes. */
export function bytesOf(codec: MessageCodec, message: IsoMessage, maxBytes: number): Uint8Array {
  const target = new Uint8Array(maxBytes);
  return target.slice(0, codec.encode(message, target, 0));
}

/** The message as the other side receives it: encoded and decoded again. */
export function overTheWire({ processor, codec }: Subject, message: IsoMessage): IsoMessage {
  return codec.decode(bytesOf(codec, message, processor.framing.maxFrameBytes));
}

/** The switch's response to a request, both over the wire. */
export function respond(subject: Subject, request: IsoMessage, response: SimulatedResponse): IsoMessage {
  const received = overTheWire(subject, request);
  return overTheWire(subject, subject.processor.simulate(received, response));
}

/** The response with this code of the switch in DE39, whether or not a scenario can ask for it. */
export function respondWith(
  subject: Subject,
  request: IsoMessage,
  switchCode: string,
  more: Partial<SimulatedResponse> = {},
): IsoMessage {
  const { spec, profile } = subject.processor;
  const response = respond(subject, request, { responseCode: meaningOf(profile.codes, switchCode), ...more });
  const field = spec.fields[39]?.name;
  return field === undefined ? response : overTheWire(subject, { ...response, [field]: switchCode });
}

/** The outcome that the processor reads from the switch's response to a request. */
export function outcomeOf(subject: Subject, request: IsoMessage, response: SimulatedResponse): Outcome {
  return subject.processor.readOutcome(respond(subject, request, response), request);
}

/** The outcome of a response with this code of the switch. */
export function outcomeWith(
  subject: Subject,
  request: IsoMessage,
  switchCode: string,
  response?: Partial<SimulatedResponse>,
): Outcome {
  return subject.processor.readOutcome(respondWith(subject, request, switchCode, response), request);
}

/** 20 November 2026, 14:10:05 UTC. */
export const TAPPED_AT_MS = Date.UTC(2026, 10, 20, 14, 10, 5);

/** Published test cards, one per scheme whose PIN rules differ. */
const CARDS = {
  Visa: { pan: '4111111111111111', aid: 'A0000000031010' },
  Mastercard: { pan: '5413330089010640', aid: 'A0000000041010' },
  Maestro: { pan: '6799998900000060018', aid: 'A0000000043060' },
  Amex: { pan: '374245001751006', aid: 'A00000002501' },
} as const;

export type TestScheme = keyof typeof CARDS;

export const TEST_SCHEMES = Object.keys(CARDS) as TestScheme[];

/** The card data that checks search for: enough of each value to be found in any encoding. */
export function secretsOf(purchase: Purchase): string[] {
  const { card, pin } = purchase;
  const secrets = [card.pan, card.pan.slice(6, -4), card.track2 ?? card.pan];
  if (pin !== undefined) secrets.push(toHex(pin.block));
  return secrets;
}

export function testCard(scheme: TestScheme): Card {
  const { pan } = CARDS[scheme];
  const track2 = `${pan}D30122010000000000000`.slice(0, 37);
  return { pan, track2, expiry: '3012', panSequence: '001', scheme };
}

/** A purchase as a reader reports it; `differing` sets the values that a check tests. */
export function testPurchase(differing: Partial<Purchase> & { scheme?: TestScheme } = {}): Purchase {
  const { scheme = 'Visa', ...rest } = differing;
  const stan = rest.stan ?? '000123';
  const amount = rest.amount ?? { amountMinor: 1_234, currency: 'ZAR', currencyNumeric: '710' };
  return {
    stan,
    rrn: retrievalReference(TAPPED_AT_MS, stan),
    sentAtMs: TAPPED_AT_MS,
    localDateTime: localDateTime(TAPPED_AT_MS, 'Africa/Johannesburg'),
    amount,
    card: testCard(scheme),
    chip: testChip(scheme, amount.amountMinor, amount.currencyNumeric),
    terminal: { tid: 'TERM0001', mid: 'MERCHANT0000001', canTakePin: true },
    merchant: { name: 'Corner Shop', city: 'Cape Town', country: 'ZA', mcc: '5411' },
    ...rest,
  };
}

function testChip(scheme: TestScheme, amountMinor: number, currencyNumeric: string): ChipData {
  const values: readonly (readonly [tag: number, hex: string])[] = [
    [0x9f02, String(amountMinor).padStart(12, '0')],
    [0x9f03, '000000000000'],
    [0x84, CARDS[scheme].aid],
    [0x82, '2000'],
    [0x9f36, '0A1B'],
    [0x9f26, '1122334455667788'],
    [0x9f27, '80'],
    [0x9f34, '1F0302'],
    [0x9f1e, '3132333435363738'],
    [0x9f10, '06010A03A00000'],
    [0x9f09, '0096'],
    [0x9f33, '0008C8'],
    [0x9f1a, '0710'],
    [0x9f35, '21'],
    [0x95, '0000000000'],
    [0x5f2a, `0${currencyNumeric}`],
    [0x9a, '261120'],
    [0x9c, '00'],
    [0x9f37, 'DEADBEEF'],
    [0x9f41, '00000042'],
  ];
  return indexTlv(encodeTlv(values.map(([tag, hex]) => ({ tag, value: fromHex(hex) }))));
}
