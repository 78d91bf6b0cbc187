import {
  binary,
  compileSpec,
  defineSpec,
  type MessageCodec,
  type MessageOf,
  type Mutable,
  numeric,
  PRIMARY_FIELDS_1987,
  positional,
  tagged,
  text,
  tlv,
  track2,
} from '#processor-kit';

/** Elements of DE48 and DE63: two digits of number, two of length, both in ASCII inside a packed message. */
const ELEMENTS = {
  tag: { encoding: 'ascii', length: 2 },
  elementPrefix: { digits: 2, encoding: 'ascii' },
  unknown: 'keep',
} as const;

/** DE48: the submitter, how terminal and issuer can handle a tap without a PIN, and a key in a key change. */
const submission = tagged({
  name: 'submission',
  bytes: 999,
  prefix: 'LLL',
  ...ELEMENTS,
  fields: {
    '01': text({ name: 'appId', characters: 32, minCharacters: 1, safe: true }),
    '02': text({ name: 'userId', characters: 64, minCharacters: 1, safe: true }),
    '22': tagged({
      name: 'singleTap',
      bytes: 99,
      minBytes: 0,
      ...ELEMENTS,
      fields: {
        '01': numeric({ name: 'isSupported', digits: 1, encoding: 'ascii', safe: true }),
        '04': numeric({ name: 'isPinWanted', digits: 1, encoding: 'ascii', safe: true }),
      },
    }),
    '31': text({ name: 'keyBlock', characters: 99, minCharacters: 16 }),
    '32': text({ name: 'keyCheckValue', characters: 6, safe: true }),
  },
});

/** DE63 of responses: the values for the merchant's reconciliation. */
const reconciliation = tagged({
  name: 'reconciliation',
  bytes: 999,
  prefix: 'LLL',
  ...ELEMENTS,
  fields: {
    '01': text({ name: 'code', characters: 4, minCharacters: 1, safe: true }),
    '02': text({ name: 'mid', characters: 15, minCharacters: 1, safe: true }),
    '03': text({ name: 'tid', characters: 8, minCharacters: 1, safe: true }),
    '04': text({ name: 'merchantName', characters: 40, minCharacters: 1, safe: true }),
    '05': text({ name: 'panEntry', characters: 16, minCharacters: 1, safe: true }),
    '06': text({ name: 'cardType', characters: 16, minCharacters: 1, safe: true }),
    '07': text({ name: 'reconReference', characters: 24, minCharacters: 1 }),
    '08': text({ name: 'acquirerDate', characters: 8, minCharacters: 1, safe: true }),
    '09': text({ name: 'acquirerTime', characters: 6, minCharacters: 1, safe: true }),
  },
});

/** ISO 8583:1987, packed: two digits per byte, also in lengths; one bitmap, because DE64 is the last field. */
export const spec = defineSpec({
  name: 'type-2',
  mti: { encoding: 'bcd' },
  bitmap: { encoding: 'binary', form: 'fixed', blocks: 1 },
  encodings: { digits: 'bcd', signed: 'x+bcd', prefix: 'bcd' },
  fields: {
    ...PRIMARY_FIELDS_1987,
    2: numeric({ name: 'pan', digits: 19, prefix: 'LL', unit: 'digits', encoding: 'bcd-right', fill: 'F' }),
    35: track2({ name: 'track2', prefix: 'LL', unit: 'nibbles', encoding: 'bcd-right', fill: 'F' }),
    48: submission,
    53: binary({ name: 'pinKsn', bytes: 12, minBytes: 10, prefix: 'LL' }),
    55: tlv({ name: 'icc', bytes: 999, prefix: 'LLL', onBadChild: 'opaque' }),
    56: positional({
      name: 'original',
      bytes: 10,
      prefix: 'LLL',
      fields: [
        numeric({ name: 'messageType', digits: 4, safe: true }),
        numeric({ name: 'stan', digits: 6, safe: true }),
        numeric({ name: 'transmissionDateTime', digits: 10, safe: true }),
      ],
    }),
    63: reconciliation,
    64: binary({ name: 'mac', bytes: 8 }),
  },
});

export type Type2Message = Mutable<MessageOf<typeof spec>>;

export const codec: MessageCodec<Type2Message> = compileSpec(spec);
