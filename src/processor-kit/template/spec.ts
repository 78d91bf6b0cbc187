import {
  alphanumeric,
  binary,
  compileSpec,
  defineSpec,
  type MessageCodec,
  type MessageOf,
  type Mutable,
  numeric,
  SPACES_RIGHT,
  text,
  tlv,
  track2,
} from '#processor-kit';

const PADDED = { ...SPACES_RIGHT, strip: true };

// EDIT: the field table of your network's specification. `encodings` sets the encodings of the whole dialect; a row
// overrides them if it differs. `safe: true` makes the value visible to people; all other values are masked.
export const spec = defineSpec({
  name: 'acme',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'binary' },
  encodings: { digits: 'ascii', prefix: 'ascii' },
  fields: {
    2: numeric({ name: 'pan', digits: 19, prefix: 'LL' }),
    3: numeric({ name: 'processingCode', digits: 6, safe: true }),
    4: numeric({ name: 'amount', digits: 12, safe: true }),
    7: numeric({ name: 'transmissionDateTime', digits: 10, safe: true }),
    11: numeric({ name: 'stan', digits: 6, safe: true }),
    12: numeric({ name: 'localTime', digits: 6, safe: true }),
    13: numeric({ name: 'localDate', digits: 4, safe: true }),
    14: numeric({ name: 'expiry', digits: 4 }),
    18: numeric({ name: 'merchantCategory', digits: 4, safe: true }),
    22: numeric({ name: 'posEntryMode', digits: 3, safe: true }),
    23: numeric({ name: 'panSequence', digits: 3, safe: true }),
    25: numeric({ name: 'posCondition', digits: 2, safe: true }),
    35: track2({ name: 'track2', prefix: 'LL' }),
    37: text({ name: 'rrn', characters: 12, content: 'anp', safe: true }),
    38: text({ name: 'authorizationCode', characters: 6, content: 'anp', pad: PADDED, safe: true }),
    39: alphanumeric({ name: 'responseCode', characters: 2, safe: true }),
    41: text({ name: 'tid', characters: 8, pad: PADDED, safe: true }),
    42: text({ name: 'mid', characters: 15, pad: PADDED, safe: true }),
    43: text({ name: 'acceptorNameLocation', characters: 40, safe: true }),
    48: text({ name: 'additionalData', characters: 999, prefix: 'LLL' }),
    49: numeric({ name: 'currency', digits: 3, safe: true }),
    52: binary({ name: 'pinBlock', bytes: 8 }),
    55: tlv({ name: 'icc', bytes: 999, prefix: 'LLL', onBadChild: 'opaque' }),
    70: numeric({ name: 'networkCode', digits: 3, safe: true }),
    90: numeric({ name: 'originalElements', digits: 42, safe: true }),
  },
});

export type AcmeMessage = Mutable<MessageOf<typeof spec>>;

export const codec: MessageCodec<AcmeMessage> = compileSpec(spec);
