import { TlvError } from '../../../basics/errors.ts';
import { toHex } from '../../../codecs/bytes/hex.ts';
import { isSameMac } from '../../../codecs/crypto/mac.ts';
import { indexTlv, tagText } from '../../../codecs/emv/tlv.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../../kits/processor-kit/index.ts';
import { type CardProfile, ChipCard, type ChipValues, MAC_TAGS } from './chip-card.ts';

/** What the issuer of a test card finds in the chip data of a payment. */
export interface ChipVerdict {
  /** The code of 7.5 of the interface that refuses the payment; undefined if nothing is wrong. */
  readonly responseCode?: string | undefined;
  /** Whether the payment needs a PIN, which it does not have. */
  readonly asksForPin: boolean;
  /** Names tags and no values. */
  readonly reason: string;
  /** The values behind the reason as hex, by tag: none that identifies the card. Only if they are to be explained. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Adds what the issuer sends to the card: a cryptogram only if that of the card is right. */
  readonly complete: (response: SimulatedResponse, isApproved: boolean) => SimulatedResponse;
}

interface Fault {
  readonly responseCode: string;
  readonly reason: string;
}

/** What the issuer knows of a card from its payments. */
interface CardHistory {
  /** Cryptograms by ATC: at most 65,536. */
  readonly used: Map<number, string>;
  /** The highest ATC. */
  highest: number | undefined;
  lastNumber: string;
}

const CRYPTOGRAM = 0x9f26;
const CRYPTOGRAM_INFORMATION = 0x9f27;
const AMOUNT = 0x9f02;
const CURRENCY = 0x5f2a;
const VERIFICATION_RESULTS = 0x95;
const CVM_RESULTS = 0x9f34;
const COUNTER = 0x9f36;
const NUMBER = 0x9f37;

/** Formats, also of numbers that contradict the message. */
const FORMAT = '30';
const SECURITY = '63';
const SUSPECTED_FRAUD = '59';
const DO_NOT_HONOUR = '05';

/** Two highest bits of 9F27: an ARQC (EMV Book 3 table 15). */
const ARQC_TYPE = 0b10;
/** Methods of 9F34, byte 1, without its highest bits (EMV Book 3 annex C3). */
const NO_CVM: readonly (number | undefined)[] = [undefined, 0x00, 0x1f, 0x3f];
const ONLINE_PIN = 0x02;

/** Results of the terminal with which the issuer declines: byte and bit of tag 95 (EMV Book 3 annex C5). */
const DECLINING_RESULTS: readonly (readonly [byte: number, bit: number, meaning: string])[] = [
  [0, 0x40, 'static data authentication failed'],
  [0, 0x08, 'dynamic data authentication failed'],
  [0, 0x04, 'combined data authentication failed'],
  [1, 0x40, 'application expired'],
  [1, 0x20, 'application not yet effective'],
  [2, 0x80, 'cardholder verification failed'],
  [2, 0x20, 'PIN try limit exceeded'],
];

/** The issuer of test cards: it checks their chip data, remembers their counters, and signs its responses. */
export class Issuer {
  readonly #cards: ReadonlyMap<string, { readonly card: ChipCard; readonly history: CardHistory }>;
  readonly #isExplaining: boolean;

  /** @param isExplaining whether verdicts have values, and state what was expected and which mistake would explain it */
  constructor(profiles: readonly CardProfile[], isExplaining: boolean) {
    this.#isExplaining = isExplaining;
    this.#cards = new Map(
      profiles.map((profile) => [
        profile.pan,
        { card: new ChipCard(profile), history: { used: new Map(), highest: undefined, lastNumber: '' } },
      ]),
    );
  }

  /** Undefined for a card of another issuer, and for requests other than payments. */
  judge(request: SimulatedRequest): ChipVerdict | undefined {
    const known = request.kind === 'authorization' ? this.#cards.get(request.pan) : undefined;
    if (known === undefined) return undefined;
    const { card, history } = known;
    const values = chipOf(request);
    const unsigned = this.#cryptogramFault(values, card);
    const fault =
      unsigned ??
      contradictionIn(request, values) ??
      numberFault(values, history) ??
      counterFault(request, values, card.profile, history) ??
      resultFault(values);
    return {
      responseCode: fault?.responseCode,
      reason: fault?.reason ?? 'the cryptogram and the values that it signs are right',
      tags: this.#isExplaining ? shownTags(values) : undefined,
      asksForPin: fault === undefined && needsPin(request, values, card.profile),
      complete: (response, isApproved) =>
        unsigned === undefined ? completed(response, isApproved, card, values) : response,
    };
  }

  #cryptogramFault(values: ChipValues, card: ChipCard): Fault | undefined {
    const unfit = card.unfitTags(values).map(tagText);
    if (unfit.length > 0) return { responseCode: FORMAT, reason: `missing or of another length: ${unfit.join(' ')}` };
    if (isSameMac(card.cryptogram(values), values.value(CRYPTOGRAM)!)) return undefined;
    return { responseCode: SECURITY, reason: this.#whyWrong(card, values) };
  }

  #whyWrong(card: ChipCard, values: ChipValues): string {
    if (!this.#isExplaining) return 'wrong cryptogram (9F26); --explain states what was expected';
    const stated = card.otherVersion(values);
    const version = stated === undefined ? '' : ` 9F10 states version ${stated}.`;
    const mistake = card.mistakeIn(values);
    const fit = mistake === undefined ? 'No single mistake explains it.' : `It is right if ${mistake}.`;
    return `wrong cryptogram (9F26). Expected: ${card.description}.${version} ${fit}`;
  }
}

/** DE55 of a request. If it cannot be read, it has no value. */
function chipOf(request: SimulatedRequest): ChipValues {
  try {
    const bytes = request.chip?.();
    if (bytes !== undefined) return indexTlv(bytes, { onBadChild: 'opaque' });
  } catch (error) {
    if (!(error instanceof TlvError)) throw error;
  }
  return { value: () => undefined };
}

/** Values that contradict each other or the message. A mandate verifies the card with amount 0. */
function contradictionIn({ amountMinor, currencyNumeric, pin }: SimulatedRequest, values: ChipValues) {
  const type = values.value(CRYPTOGRAM_INFORMATION)?.[0];
  const method = methodOf(values);
  const reason =
    (type !== undefined && type >> 6 !== ARQC_TYPE && '9F27 does not state an ARQC') ||
    (amountMinor > 0 && numberIn(values, AMOUNT) !== amountMinor && '9F02 differs from the amount of the message') ||
    (numberIn(values, CURRENCY) !== Number(currencyNumeric) && '5F2A differs from the currency of the message') ||
    (method === ONLINE_PIN && pin === undefined && '9F34 states an online PIN, and the message has none');
  return reason ? { responseCode: FORMAT, reason } : undefined;
}

/** An unpredictable number that repeats, or that is a part of another value. */
function numberFault(values: ChipValues, history: CardHistory): Fault | undefined {
  const number = toHex(values.value(NUMBER)!);
  const other = MAC_TAGS.find((tag) => tag !== NUMBER && isPartOf(number, values.value(tag)));
  const isRepeated = number === history.lastNumber && !history.used.has(counterIn(values));
  history.lastNumber = number;
  const why =
    (/^(..)\1{3}$/.test(number) && 'its bytes are equal') ||
    (isRepeated && 'the previous payment of the card had it') ||
    (other !== undefined && `it is a part of ${tagText(other)}`);
  return why ? { responseCode: SECURITY, reason: `9F37 is not unpredictable: ${why}` } : undefined;
}

/** The ATC: it counts up, and a gap is the number of transactions without the issuer. */
function counterFault(
  request: SimulatedRequest,
  values: ChipValues,
  profile: CardProfile,
  history: CardHistory,
): Fault | undefined {
  const counter = counterIn(values);
  const cryptogram = toHex(values.value(CRYPTOGRAM)!);
  const before = history.used.get(counter);
  // A PIN follows in a second message, with the values of the same tap.
  if (before !== undefined && !(request.pin !== undefined && before === cryptogram))
    return { responseCode: SUSPECTED_FRAUD, reason: 'the ATC (9F36) was used before' };
  const { highest = counter - 1 } = history;
  const gap = counter - highest - 1;
  history.used.set(counter, cryptogram);
  history.highest = Math.max(counter, highest);
  if (gap <= (profile.maxOffline ?? gap)) return undefined;
  return { responseCode: DO_NOT_HONOUR, reason: 'the ATC (9F36) states too many transactions without the issuer' };
}

function resultFault(values: ChipValues): Fault | undefined {
  const results = values.value(VERIFICATION_RESULTS)!;
  const found = DECLINING_RESULTS.filter(([byte, bit]) => (results[byte]! & bit) !== 0).map(([, , meaning]) => meaning);
  return found.length === 0 ? undefined : { responseCode: DO_NOT_HONOUR, reason: `95 states: ${found.join(', ')}` };
}

function needsPin(
  { amountMinor, pin }: SimulatedRequest,
  values: ChipValues,
  { noCvmLimitMinor }: CardProfile,
): boolean {
  return pin === undefined && amountMinor > (noCvmLimitMinor ?? amountMinor) && NO_CVM.includes(methodOf(values));
}

function completed(
  response: SimulatedResponse,
  isApproved: boolean,
  card: ChipCard,
  values: ChipValues,
): SimulatedResponse {
  return {
    ...response,
    authenticationData: (responseCode) => card.authenticationData(values, responseCode, isApproved),
    scripts: isApproved ? card.scripts : undefined,
  };
}

/** The values in the cryptogram, and those that describe it. None of them contains a PAN. */
function shownTags(values: ChipValues): Record<string, string> {
  const shown = [...MAC_TAGS, 0x9f10, CRYPTOGRAM, CRYPTOGRAM_INFORMATION, CVM_RESULTS].flatMap((tag) => {
    const value = values.value(tag);
    return value === undefined ? [] : [[tagText(tag), toHex(value)] as const];
  });
  return Object.fromEntries(shown);
}

function methodOf(values: ChipValues): number | undefined {
  const first = values.value(CVM_RESULTS)?.[0];
  return first === undefined ? undefined : first & 0x3f;
}

/** The ATC. */
function counterIn(values: ChipValues): number {
  return Number.parseInt(toHex(values.value(COUNTER)!), 16);
}

/** A packed decimal. */
function numberIn(values: ChipValues, tag: number): number {
  return Number(toHex(values.value(tag)!));
}

function isPartOf(number: string, value: Uint8Array | undefined): boolean {
  return value !== undefined && toHex(value).includes(number);
}
