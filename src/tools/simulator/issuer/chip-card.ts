import { z } from 'zod';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { type BlockKey, takeKey } from '../../../codecs/crypto/block-key.ts';
import { isSameMac } from '../../../codecs/crypto/mac.ts';
import { tagText } from '../../../codecs/emv/tlv.ts';
import type { CardTag } from '../../../kits/processor-kit/index.ts';
import {
  applicationCryptogram,
  type CardKeyMethod,
  deriveCardKey,
  deriveSessionKey,
  responseCryptogram1,
  responseCryptogram2,
  type SessionKeyMethod,
} from './cryptogram.ts';

/** How the cards of one cryptogram version (CVN) compute. */
interface CryptogramVersion {
  /** CVN and its place in the issuer application data (9F10). */
  readonly cvn: number;
  readonly cvnOffset: number;
  readonly cardKey: CardKeyMethod;
  readonly sessionKey: SessionKeyMethod;
  readonly padding: 1 | 2;
  /** The bytes of 9F10 that follow the other values in the MAC, as start and end. */
  readonly issuerData: readonly (readonly [start: number, end: number])[];
  /** Method of the ARPC, and whose key it has: that of the card or of the transaction. */
  readonly response: 1 | 2;
  readonly responseKey: SessionKeyMethod;
  /** 9F10 of a card that asks the issuer. */
  readonly sampleIssuerData: string;
}

/** CVR of M/Chip, and its counters. */
const CVR: CryptogramVersion['issuerData'] = [[2, 8]];
const CVR_AND_COUNTERS: CryptogramVersion['issuerData'] = [...CVR, [10, 18]];
const ALL_DATA: CryptogramVersion['issuerData'] = [[0, 32]];
const VISA_CVR: CryptogramVersion['issuerData'] = [[3, 7]];

function mchip(cvn: number, sessionKey: 'mchip' | 'common', issuerData: CryptogramVersion['issuerData']) {
  return {
    cvn,
    cvnOffset: 1,
    cardKey: 'A',
    sessionKey,
    padding: 2,
    issuerData,
    response: 1,
    responseKey: sessionKey === 'mchip' ? 'none' : sessionKey,
    sampleIssuerData: `01${cvn.toString(16)}A04003220000000000000000000000FF`,
  } as const satisfies CryptogramVersion;
}

const VISA_10 = {
  cvn: 10,
  cvnOffset: 2,
  cardKey: 'A',
  sessionKey: 'none',
  padding: 1,
  issuerData: VISA_CVR,
  response: 1,
  responseKey: 'none',
  sampleIssuerData: '06010A03A00000',
} as const satisfies CryptogramVersion;

/**
 * The versions, as pyemv 1.5 and jPOS 2.1 have them. American Express publishes none: that a card of version 1 has no session
 * key follows from AWS Payment Cryptography (SessionKeyAmex), and the rest is assumed to be as in Visa's version 10.
 */
const CRYPTOGRAM_VERSIONS = {
  'visa-10': VISA_10,
  'visa-18': {
    cvn: 18,
    cvnOffset: 2,
    cardKey: 'B',
    sessionKey: 'common',
    padding: 2,
    issuerData: ALL_DATA,
    response: 2,
    responseKey: 'common',
    sampleIssuerData: '06011203A00000',
  },
  'mastercard-16': mchip(16, 'mchip', CVR),
  'mastercard-17': mchip(17, 'mchip', CVR_AND_COUNTERS),
  'mastercard-20': mchip(20, 'common', CVR),
  'mastercard-21': mchip(21, 'common', CVR_AND_COUNTERS),
  'amex-1': { ...VISA_10, cvn: 1, sampleIssuerData: '06010103A02000' },
} as const satisfies Readonly<Record<string, CryptogramVersion>>;

type CryptogramVersionName = keyof typeof CRYPTOGRAM_VERSIONS;

const VERSION_NAMES = Object.keys(CRYPTOGRAM_VERSIONS) as [CryptogramVersionName, ...CryptogramVersionName[]];

/** Hundreds of transactions without the issuer, or none at all. */
const MAX_OFFLINE = 65_535;

/** A script has at most 128 bytes (EMV Book 3 10.10). */
const script = z
  .string()
  .max(2 * 128)
  .regex(/^(?:[0-9A-F]{2})+$/, 'the value of the template in upper-case hex');

/** A test card and what its issuer checks, as a file has them. */
const cardProfile = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,32}$/, 'lower-case letters, digits and hyphens'),
  pan: z.string().regex(/^\d{12,19}$/, '12 to 19 digits'),
  /** PAN sequence number (5F34). */
  sequence: z
    .string()
    .regex(/^\d{2}$/, 'two digits')
    .default('01'),
  version: z.enum(VERSION_NAMES),
  /** The issuer's master key for application cryptograms. Keys of test cards are published; no other belongs here. */
  issuerKey: z.string().regex(/^[0-9A-Fa-f]{32}$/, '32 hex digits'),
  /** A larger payment, in minor units, without a PIN or another verification of the customer is asked for the PIN. */
  noCvmLimitMinor: z.int().min(0).optional(),
  /** Most transactions that the card may have made since the last one that the issuer has seen, by the ATC. */
  maxOffline: z.int().min(0).max(MAX_OFFLINE).optional(),
  /** Sent with each approval as they are, in templates 71 and 72. */
  scripts: z.strictObject({ 71: script.optional(), 72: script.optional() }).optional(),
});

/** A file names at most this many cards: they are for tests by hand. */
export const cardProfiles = z.array(cardProfile).min(1).max(1_000);

export type CardProfile = z.output<typeof cardProfile>;

/** The keys of Visa's and Mastercard's public test cards (ADVT, M-TIP), as tools for such cards list them. */
const VISA_KEY = '2315208C9110AD402315208C9110AD40';
const MASTERCARD_KEY = '9E15204313F7318ACB79B90BD986AD29';
/** The key of examples in documents. */
const EXAMPLE_KEY = '0123456789ABCDEFFEDCBA9876543210';

/** Chip cards for `tapwire simulate --issuer test` and `tapwire tap --card`: published test PANs, published test keys. */
export const TEST_CARDS: readonly CardProfile[] = [
  { name: 'visa-10', pan: '4761739001010010', sequence: '01', version: 'visa-10', issuerKey: VISA_KEY },
  { name: 'visa-18', pan: '4012888888881881', sequence: '00', version: 'visa-18', issuerKey: VISA_KEY },
  {
    name: 'mastercard-16',
    pan: '5413339000006165',
    sequence: '00',
    version: 'mastercard-16',
    issuerKey: MASTERCARD_KEY,
  },
  {
    name: 'mastercard-17',
    pan: '5555555555554444',
    sequence: '01',
    version: 'mastercard-17',
    issuerKey: MASTERCARD_KEY,
  },
  { name: 'amex-1', pan: '378282246310005', sequence: '00', version: 'amex-1', issuerKey: EXAMPLE_KEY },
];

/** Values of a transaction by tag. */
export interface ChipValues {
  value(tag: number): Uint8Array | undefined;
}

/** The values in the MAC with their lengths (EMV Book 2 table 26), in its order; issuer application data follow. */
const MAC_VALUES: ReadonlyMap<number, number> = new Map([
  [0x9f02, 6],
  [0x9f03, 6],
  [0x9f1a, 2],
  [0x95, 5],
  [0x5f2a, 2],
  [0x9a, 3],
  [0x9c, 1],
  [0x9f37, 4],
  [0x82, 2],
  [0x9f36, 2],
]);
export const MAC_TAGS: readonly number[] = [...MAC_VALUES.keys()];
const AMOUNT_OTHER = 0x9f03;
const SEQUENCE = 0x5f34;
const ISSUER_DATA = 0x9f10;
const CRYPTOGRAM = 0x9f26;
const CRYPTOGRAM_BYTES = 8;

/** Card status update (EMV Book 3 annex C, CSU): byte 2, bit 8 approves. */
const APPROVED_UPDATE = Uint8Array.of(0, 0x80, 0, 0);
const DECLINED_UPDATE = new Uint8Array(4);

/** A test card: it computes what the card computes, and what its issuer expects of it. */
export class ChipCard {
  readonly profile: CardProfile;
  readonly #version: CryptogramVersion;

  constructor(profile: CardProfile) {
    this.profile = profile;
    this.#version = CRYPTOGRAM_VERSIONS[profile.version];
  }

  /** What the issuer sends to the card with an approval. */
  get scripts(): CardTag[] {
    return Object.entries(this.profile.scripts ?? {}).map(([tag, value]) => ({ tag, value }));
  }

  /** 9F10 of a card that asks the issuer. */
  get sampleIssuerData(): Uint8Array {
    return fromHex(this.#version.sampleIssuerData);
  }

  /** The version that 9F10 states, if it is another one. */
  otherVersion(values: ChipValues): number | undefined {
    const { cvn, cvnOffset } = this.#version;
    const stated = values.value(ISSUER_DATA)?.[cvnOffset];
    return stated === cvn ? undefined : stated;
  }

  /** The tags that a cryptogram needs and that are missing or have another length. Without 9F03, it is zero. */
  unfitTags(values: ChipValues): number[] {
    const unfit = [...MAC_VALUES, [CRYPTOGRAM, CRYPTOGRAM_BYTES] as const]
      .filter(([tag, bytes]) => (values.value(tag)?.length ?? (tag === AMOUNT_OTHER ? bytes : 0)) !== bytes)
      .map(([tag]) => tag);
    const issuerData = values.value(ISSUER_DATA);
    const end = Math.max(...this.#version.issuerData.map(([, last]) => (last === 32 ? 1 : last)));
    return issuerData === undefined || issuerData.length < end ? [...unfit, ISSUER_DATA] : unfit;
  }

  /** The application cryptogram of a transaction. Its values must be fit. */
  cryptogram(values: ChipValues): Uint8Array {
    return compute(this.profile, this.#version, values);
  }

  /**
   * Issuer authentication data (tag 91): the ARPC, and what it is computed over besides the ARQC.
   *
   * @param responseCode the code for the card, two bytes; only method 1 has it
   */
  authenticationData(values: ChipValues, responseCode: Uint8Array, isApproved: boolean): Uint8Array {
    const { response, responseKey } = this.#version;
    const key = sessionKeyOf(this.profile, { ...this.#version, sessionKey: responseKey }, values);
    const arqc = values.value(CRYPTOGRAM)!;
    const update = isApproved ? APPROVED_UPDATE : DECLINED_UPDATE;
    if (response === 2) return Buffer.concat([responseCryptogram2(key, arqc, update), update]);
    return Buffer.concat([responseCryptogram1(key, arqc, responseCode), responseCode]);
  }

  /** Whether authentication data are those of the card's issuer for this transaction. */
  isFromIssuer(values: ChipValues, data: Uint8Array): boolean {
    const expected = [true, false].map((isApproved) => this.authenticationData(values, data.subarray(8), isApproved));
    return expected.some((each) => isSameMac(each, data));
  }

  /** What a cryptogram of this card is, in words: `none` as session key is the key of the card. */
  get description(): string {
    const { cvn, sessionKey, padding, issuerData } = this.#version;
    const tags = MAC_TAGS.map(tagText).join(' ');
    const bytes = issuerData === ALL_DATA ? 'all of 9F10' : `${issuerData.map(bytesOf).join(' and ')} of 9F10`;
    return `a MAC of version ${cvn} (session key ${sessionKey}, padding ${padding}, sequence ${this.profile.sequence}) over ${tags} and ${bytes}`;
  }

  /** A single mistake with which a wrong cryptogram would be the computed one; undefined if none is found. */
  mistakeIn(values: ChipValues): string | undefined {
    return mistakesOf(this.profile, this.#version, values).find(({ profile, version, changed }) =>
      isSameMac(
        compute(profile ?? this.profile, version ?? this.#version, changed ?? values),
        values.value(CRYPTOGRAM)!,
      ),
    )?.text;
  }
}

interface Mistake {
  readonly text: string;
  readonly profile?: CardProfile;
  readonly version?: CryptogramVersion;
  readonly changed?: ChipValues;
}

/** Mistakes of kernels, personalizations and message builders. */
function mistakesOf(profile: CardProfile, version: CryptogramVersion, values: ChipValues): Mistake[] {
  const zero = (tag: number) => new Uint8Array(MAC_VALUES.get(tag)!);
  const stated = values.value(SEQUENCE);
  return [
    ...['00', '01', ...(stated?.length === 1 ? [toHex(stated)] : [])].map((sequence) => ({
      text: `the PAN sequence number is ${sequence}`,
      profile: { ...profile, sequence },
    })),
    ...VERSION_NAMES.map((name) => ({ text: `the card is of version ${name}`, version: CRYPTOGRAM_VERSIONS[name] })),
    ...(['none', 'common', 'mchip'] as const).map((sessionKey) => ({
      text: `the session key is ${sessionKey}`,
      version: { ...version, sessionKey },
    })),
    ...([1, 2] as const).map((padding) => ({ text: `the padding is ${padding}`, version: { ...version, padding } })),
    { text: 'all of 9F10 is in the MAC', version: { ...version, issuerData: ALL_DATA } },
    { text: '9F10 is not in the MAC', version: { ...version, issuerData: [] } },
    ...MAC_TAGS.map((tag) => ({
      text: `${tagText(tag)} was zero when the card computed it`,
      changed: { value: (wanted: number) => (wanted === tag ? zero(tag) : values.value(wanted)) },
    })),
  ];
}

function compute(profile: CardProfile, version: CryptogramVersion, values: ChipValues): Uint8Array {
  const issuerData = values.value(ISSUER_DATA)!;
  const data = [
    ...[...MAC_VALUES].map(([tag, bytes]) => values.value(tag) ?? new Uint8Array(bytes)),
    ...version.issuerData.map(([start, end]) => issuerData.subarray(start, end)),
  ];
  return applicationCryptogram(sessionKeyOf(profile, version, values), Buffer.concat(data), version.padding);
}

function sessionKeyOf(
  { issuerKey, pan, sequence }: CardProfile,
  { cardKey, sessionKey }: CryptogramVersion,
  values: ChipValues,
): BlockKey {
  const card = deriveCardKey(takeKey('tdes', fromHex(issuerKey)), pan, sequence, cardKey);
  const [atc, unpredictableNumber] = [values.value(0x9f36)!, values.value(0x9f37)!];
  return deriveSessionKey(card, sessionKey, { atc, unpredictableNumber });
}

function bytesOf([start, end]: readonly [number, number]): string {
  return `bytes ${start + 1} to ${end}`;
}
