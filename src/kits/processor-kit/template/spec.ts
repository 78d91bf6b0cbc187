import {
  compileSpec,
  defineSpec,
  type MessageCodec,
  type MessageOf,
  type Mutable,
  PRIMARY_FIELDS_1987,
  SECONDARY_FIELDS_1987,
  SPACES_RIGHT,
  text,
  tlv,
  track2,
} from '#processor-kit';

const PADDED = { ...SPACES_RIGHT, strip: true };

// EDIT: where the field table of your network's specification differs from ISO 8583:1987. `encodings` sets the encodings of
// the whole dialect; a row overrides them if it differs. `safe: true` makes the value visible to people; all other values
// are masked.
export const spec = defineSpec({
  name: 'acme',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'binary' },
  encodings: { digits: 'ascii', prefix: 'ascii' },
  fields: {
    ...PRIMARY_FIELDS_1987,
    ...SECONDARY_FIELDS_1987,
    35: track2({ name: 'track2', prefix: 'LL' }),
    38: text({ name: 'authorizationCode', characters: 6, content: 'anp', pad: PADDED, safe: true }),
    41: text({ name: 'tid', characters: 8, pad: PADDED, safe: true }),
    42: text({ name: 'mid', characters: 15, pad: PADDED, safe: true }),
    55: tlv({ name: 'icc', bytes: 999, prefix: 'LLL', onBadChild: 'opaque' }),
  },
});

export type AcmeMessage = Mutable<MessageOf<typeof spec>>;

export const codec: MessageCodec<AcmeMessage> = compileSpec(spec);
