import {
  compileSpec,
  defineSpec,
  type MessageCodec,
  type MessageOf,
  type Mutable,
  numeric,
  PRIMARY_FIELDS_1993,
  positional,
  SECONDARY_FIELDS_1993,
  tlv,
} from '#processor-kit';

/** ISO 8583:1993 in ASCII: the bitmaps are hex digits; only DE52, 53, 55, 96 and the MAC are bytes. */
export const spec = defineSpec({
  name: 'type-1993',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'hex' },
  fields: {
    ...PRIMARY_FIELDS_1993,
    ...SECONDARY_FIELDS_1993,
    // Longer than the 255 bytes of the standard, because the scripts of an issuer can exceed them.
    55: tlv({ name: 'icc', bytes: 999, prefix: 'LLL', onBadChild: 'opaque' }),
    // 4.3: message type, STAN and local time of the original, then the acquirer's id after its length.
    56: positional({
      name: 'original',
      bytes: 35,
      prefix: 'LL',
      fields: [
        numeric({ name: 'messageType', digits: 4, safe: true }),
        numeric({ name: 'stan', digits: 6, safe: true }),
        numeric({ name: 'localDateTime', digits: 12, safe: true }),
        numeric({ name: 'acquirerId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
      ],
    }),
  },
});

export type Type1993Message = Mutable<MessageOf<typeof spec>>;

export const codec: MessageCodec<Type1993Message> = compileSpec(spec);
