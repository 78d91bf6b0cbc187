import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type1 from '../../../processors/type-1/index.ts';
import type2 from '../../../processors/type-2/index.ts';
import type1993 from '../../../processors/type-1993/index.ts';
import { sampleTap } from '../../../src/card/sample-tap.ts';
import { fromHex } from '../../../src/codecs/bytes/hex.ts';
import { encodeTlv, indexTlv } from '../../../src/codecs/emv/tlv.ts';
import type { Processor } from '../../../src/kits/processor-kit/index.ts';
import { VirtualCard } from '../../../src/tools/phone/virtual-card.ts';
import { demoHsm } from '../../../src/tools/simulator/demo-hsm.ts';
import { type CardProfile, MAC_TAGS, TEST_CARDS } from '../../../src/tools/simulator/issuer/chip-card.ts';
import { Issuer } from '../../../src/tools/simulator/issuer/issuer.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from '../support.ts';

let simulator: Simulator;
let acquirer: Acquirer;
const events: SimulatorEvent[] = [];
afterEach(async () => {
  acquirer.pool.destroy();
  await simulator.close();
  events.length = 0;
});

async function open(
  processor: Processor = type2,
  cards: readonly CardProfile[] | 'none' = TEST_CARDS,
  isExplaining = false,
) {
  const config = { ...processor.exampleConfig, pinKey: undefined };
  const processors = [{ processor, config, port: 0 }];
  const chipCards = cards === 'none' ? undefined : cards;
  simulator = await startSimulator({ processors, chipCards, isExplaining, onEvent: (event) => events.push(event) });
  const addresses = [{ host: '127.0.0.1', port: simulator.ports[0]! }];
  acquirer = new Acquirer(processor, { ...config, addresses }, demoHsm([config], 'dev'));
}

const PAYMENT = {
  kind: 'authorization',
  currencyNumeric: '710',
  stan: '000001',
  rrn: '',
  tid: '',
  key: '000001',
  faults: [],
} as const;
const VISA = TEST_CARDS.find(({ name }) => name === 'visa-18')!;
const AMOUNT = 12_00;

/** @param change changes the values after the card has signed them */
async function present(card: VirtualCard, change: (values: Map<number, Uint8Array>) => void = () => {}) {
  const values = sampleTap({
    ...{ card: card.scheme, pan: card.pan, amountMinor: AMOUNT, currencyNumeric: '710', at: new Date() },
  });
  card.sign(values);
  change(values);
  const { outcome } = await acquirer.tap(AMOUNT, undefined, {
    chip: indexTlv(encodeTlv([...values].map(([tag, value]) => ({ tag, value })))),
    card: { pan: card.pan, track2: `${card.pan}D31122010000000000`, expiry: '3112', scheme: 'Visa' },
  });
  return outcome!;
}

const tagged = (tag: number, hex: string) => (values: Map<number, Uint8Array>) => values.set(tag, fromHex(hex));

describe.each(
  [type1, type2, type1993].map((processor) => [processor.type, processor] as const),
)('%s', (_, processor) => {
  test.each(
    TEST_CARDS.map((profile) => [profile.name, profile] as const),
  )('the issuer of a card %s knows its cryptogram, and the card that of the issuer', async (__, profile) => {
    await open(processor);
    const card = new VirtualCard(profile);
    for (let payment = 0; payment < 3; payment++) {
      const outcome = await present(card);
      expect(outcome).toMatchObject({ kind: 'approved', responseCode: '00' });
      expect(card.trusts(outcome.cardTags)).toBe(true);
    }
    expect(events).toEqual([]);
  });

  test('a wrong cryptogram is declined with 63, and its card does not trust the response', async () => {
    await open(processor);
    const card = new VirtualCard(VISA);
    const outcome = await present(card, tagged(0x95, '0000000080'));
    expect(outcome).toMatchObject({ kind: 'declined', responseCode: '63' });
    expect(card.trusts(outcome.cardTags)).toBe(false);
    expect(events).toMatchObject([{ event: 'chipRefused', responseCode: '63' }]);
    expect(events[0]!.tags).toBeUndefined();
  });
});

test.each([
  [
    'an ATC that was used before',
    (card: VirtualCard) => present(new VirtualCard({ ...VISA, pan: card.pan })),
    '59',
    /9F36/,
  ],
  ['no cryptogram', (card: VirtualCard) => present(card, (values) => values.delete(0x9f26)), '30', /9F26/],
  ['a TVR that is too short', (card: VirtualCard) => present(card, tagged(0x95, '00000000')), '30', /95/],
  ['a cryptogram of another type', (card: VirtualCard) => present(card, tagged(0x9f27, '40')), '30', /9F27/],
  [
    'an online PIN that the message does not have',
    (card: VirtualCard) => present(card, tagged(0x9f34, '420300')),
    '30',
    /9F34/,
  ],
])('%s is declined, and the log states the tag', async (_, act, responseCode, reason) => {
  await open();
  const card = new VirtualCard(VISA);
  expect(await present(card)).toMatchObject({ kind: 'approved' });
  expect(await act(card)).toMatchObject({ kind: 'declined', responseCode });
  expect(events).toMatchObject([{ event: 'chipRefused', responseCode, reason: expect.stringMatching(reason) }]);
});

/** What a kernel had read before the card computed its cryptogram, so that the cryptogram is right. */
test.each([
  ['an amount that differs from that of the message', 0x9f02, '000000001300', '30', /9F02 differs/],
  ['another currency than that of the message', 0x5f2a, '0978', '30', /5F2A differs/],
  ['a failed data authentication', 0x95, '0400000000', '05', /combined data authentication/],
  ['a number of equal bytes', 0x9f37, '00000000', '63', /9F37 is not unpredictable: its bytes are equal/],
  [
    'a number that is the end of the amount',
    0x9f37,
    '00001200',
    '63',
    /9F37 is not unpredictable: it is a part of 9F02/,
  ],
])('%s is declined, although the cryptogram is right', async (_, tag, hex, responseCode, reason) => {
  await open();
  const signing = new VirtualCard(VISA);
  const changed = (values: Map<number, Uint8Array>) => {
    values.set(tag, fromHex(hex));
    signing.sign(values);
  };
  expect(await present(new VirtualCard(VISA), changed)).toMatchObject({ kind: 'declined', responseCode });
  expect(events).toMatchObject([{ reason: expect.stringMatching(reason) }]);
});

test('a card that made more transactions without the issuer than allowed is declined, and then goes on', async () => {
  await open(type2, [{ ...VISA, maxOffline: 3 }]);
  expect(await present(new VirtualCard(VISA, 10))).toMatchObject({ kind: 'approved' });
  expect(await present(new VirtualCard(VISA, 14))).toMatchObject({ kind: 'approved' });
  expect(await present(new VirtualCard(VISA, 19))).toMatchObject({ kind: 'declined', responseCode: '05' });
  expect(await present(new VirtualCard(VISA, 20))).toMatchObject({ kind: 'approved' });
});

test('a payment above the limit without a verified customer is asked for the PIN', async () => {
  await open(type2, [{ ...VISA, noCvmLimitMinor: AMOUNT - 1 }]);
  const card = new VirtualCard(VISA);
  expect(await present(card)).toMatchObject({ kind: 'pinRequired' });
  expect(await present(card, tagged(0x9f34, '010002'))).toMatchObject({ kind: 'approved' });
});

test('an approval carries the scripts of the profile, and a decline does not', async () => {
  await open(type2, [{ ...VISA, scripts: { 72: '9F1804000000018609841E0000048E4A1B2C' } }]);
  const card = new VirtualCard(VISA);
  const scripts = async (change?: Parameters<typeof present>[1]) =>
    (await present(card, change)).cardTags.filter(({ tag }) => tag === '72');
  expect(await scripts()).toEqual([{ tag: '72', value: '9F1804000000018609841E0000048E4A1B2C' }]);
  expect(await scripts(tagged(0x95, '0000000001'))).toEqual([]);
});

test.each([
  [{ sequence: '01' }, 'the PAN sequence number is 01'],
  [{ sequence: '42' }, 'the PAN sequence number is 42'],
  [{ version: 'visa-10' as const }, 'the card is of version visa-10'],
])('with --explain, the log states the mistake of a card with %o, and no PAN and no key', async (differing, mistake) => {
  await open(type2, TEST_CARDS, true);
  await present(new VirtualCard(VISA));
  await present(new VirtualCard({ ...VISA, ...differing }));
  expect(events.map(({ event }) => event)).toEqual(['chipAccepted', 'chipRefused']);
  const { reason, tags } = events[1]!;
  expect(reason).toContain('over 9F02 9F03 9F1A 95 5F2A 9A 9C 9F37 82 9F36');
  expect(reason).toContain(`It is right if ${mistake}.`);
  expect(tags).toMatchObject({ '9F02': '000000001200', '9F36': '0001' });
  const text = JSON.stringify(events);
  expect(text).not.toContain(VISA.pan);
  expect(text).not.toContain(VISA.issuerKey);
});

test('with --explain, the log states another version in 9F10, and that no single mistake explains the cryptogram', async () => {
  await open(type2, TEST_CARDS, true);
  await present(new VirtualCard(VISA), (values) => {
    values.set(0x9f10, fromHex('06010A03A00000')).set(0x9f26, fromHex('0102030405060708'));
  });
  expect(events[0]!.reason).toContain('9F10 states version 10. No single mistake explains it.');
});

test('with --explain, the log states the tag that was zero when the card computed its cryptogram', async () => {
  await open(type2, TEST_CARDS, true);
  const zeros = new VirtualCard(VISA);
  await present(new VirtualCard(VISA), (values) => {
    const [number, amount] = [values.get(0x9f37)!, values.get(0x9f02)!];
    values.set(0x9f02, new Uint8Array(6));
    zeros.sign(values);
    values.set(0x9f02, amount).set(0x9f37, number);
  });
  expect(events[0]!.reason).toContain('It is right if 9F02 was zero when the card computed it.');
});

test('chip data of any tags and lengths lead to a verdict that refuses them', () => {
  const issuer = new Issuer(TEST_CARDS, true);
  const tags = fc.constantFrom(...MAC_TAGS, 0x9f10, 0x9f26, 0x9f27, 0x9f34);
  const objects = fc.array(fc.record({ tag: tags, value: fc.uint8Array({ maxLength: 33 }) }), { maxLength: 20 });
  const signed = sampleTap({ amountMinor: AMOUNT, currencyNumeric: '710', at: new Date() });
  new VirtualCard(VISA).sign(signed);
  const fit = fc.tuple(
    ...[...signed].map(([tag, { length }]) =>
      fc.uint8Array({ minLength: length, maxLength: length }).map((value) => ({ tag, value })),
    ),
  );
  const chips = fc.oneof(
    fc.oneof(objects, fit).map((each) => encodeTlv(each)),
    fc.uint8Array(),
    fc.constant(undefined),
  );
  fc.assert(
    fc.property(chips, fc.constantFrom(...TEST_CARDS), fc.nat(), (chip, { pan }, amountMinor) => {
      const verdict = issuer.judge({ ...PAYMENT, pan, amountMinor, chip: () => chip });
      expect(verdict).toMatchObject({ responseCode: expect.stringMatching(/^(30|63)$/), asksForPin: false });
    }),
    { numRuns: 1_000 },
  );
});

test('without the issuer, and for other cards, random cryptograms are approved as before', async () => {
  await open(type2, 'none');
  const noIssuer = await present(new VirtualCard(VISA), tagged(0x9f26, '0102030405060708'));
  expect(noIssuer).toMatchObject({ kind: 'approved' });
  acquirer.pool.destroy();
  await simulator.close();
  await open();
  expect((await acquirer.tap(AMOUNT)).outcome).toMatchObject({ kind: 'approved' });
  expect(events).toEqual([]);
});
