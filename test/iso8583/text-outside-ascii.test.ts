import { expect, test } from 'vitest';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { text } from '../../src/codecs/iso8583/fields.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';

const codec = compileSpec(
  defineSpec({
    name: 'text',
    mti: { encoding: 'ascii' },
    bitmap: { encoding: 'binary' },
    fields: {
      43: text({ name: 'place', characters: 40, content: 'ans' }),
      44: text({ name: 'note', characters: 40, prefix: 'LL' }),
    },
  }),
);

test.each(['é', 'ÿ', '€', '😀', '\u0080'])('%s in any position of a text of any length is refused', (character) => {
  for (let length = character.length; length <= 40; length++) {
    const plain = 'C'.repeat(length - character.length);
    for (const at of [0, Math.floor(plain.length / 2), plain.length]) {
      const words = plain.slice(0, at) + character + plain.slice(at);
      const encode = (message: { mti: string; place?: string; note?: string }) =>
        codec.encode(message, new Uint8Array(200).fill(0x41), 0);
      expect(() => encode({ mti: '0100', note: words }), `${length} ${at}`).toThrow('CONTENT_INVALID');
      if (length === 40) expect(() => encode({ mti: '0100', place: words })).toThrow('CONTENT_INVALID');
    }
  }
});
