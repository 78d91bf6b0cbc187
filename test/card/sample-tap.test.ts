import { describe, expect, test } from 'vitest';
import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../src/card/sample-tap.ts';
import { readCard } from '../../src/codecs/emv/card.ts';
import { decideOnline } from '../../src/codecs/emv/cryptogram.ts';
import { schemeOf } from '../../src/codecs/emv/scheme.ts';
import { encodeTlv, indexTlv } from '../../src/codecs/emv/tlv.ts';

const TAP = { amountMinor: 1_234, currencyNumeric: '710', at: new Date('2026-03-01T10:20:30Z') };

describe.each(Object.keys(SAMPLE_CARDS) as SampleCardName[])('a tap of the sample card %s', (card) => {
  const index = indexTlv(encodeTlv([...sampleTap({ ...TAP, card })].map(([tag, value]) => ({ tag, value }))));

  test('reads as its card and goes online', () => {
    expect(readCard(index)).toMatchObject({ pan: SAMPLE_CARDS[card].pan, expiry: '3112' });
    expect(schemeOf(index, SAMPLE_CARDS[card].pan)?.toLowerCase()).toBe(card);
    expect(decideOnline(index)).toBe('goOnline');
  });

  test('contains its amount, currency and time', () => {
    expect(index.hex(0x9f02)).toBe('000000001234');
    expect(index.hex(0x5f2a)).toBe('0710');
    expect(index.hex(0x9a)).toBe('260301');
    expect(index.hex(0x9f21)).toBe('102030');
  });

  test('differs each time', () => {
    const again = sampleTap({ ...TAP, card });
    expect(Buffer.from(again.get(0x9f26)!)).not.toEqual(Buffer.from(index.value(0x9f26)!));
  });
});
