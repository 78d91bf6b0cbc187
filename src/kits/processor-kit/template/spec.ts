import {
  compileSpec,
  defineSpec,
  type MessageCodec,
  type MessageOf,
  type Mutable,
  PRIMARY_FIELDS_1987,
  SECONDARY_FIELDS_1987,
  tlv,
  track2,
} from '#processor-kit';

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
    55: tlv({ name: 'icc', bytes: 999, prefix: 'LLL', onBadChild: 'opaque' }),
  },
});

export type AcmeMessage = Mutable<MessageOf<typeof spec>>;

export const codec: MessageCodec<AcmeMessage> = compileSpec(spec);
