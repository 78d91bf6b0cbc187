import fc from 'fast-check';
import { expect, test } from 'vitest';
import type2 from '../../processors/type-2/index.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import type { Processor } from '../../src/kits/processor-kit/processor.ts';
import type { ProviderValues } from '../../src/payments/model/transaction.ts';
import type { PurchaseResponse } from '../../src/payments/ports/switch-ports.ts';
import { providerValues, RecentApprovals } from '../../src/switching/switches/standard-fields.ts';
import { switchSlot } from '../../src/switching/switches/switch-slot.ts';

const PAN = '4761739001010119';
const ABOUT = { acquirerId: 1, id: 'sale', attempt: 1 };

type SlotParts = Parameters<typeof switchSlot>[1];
type Responded = { readonly value: PurchaseResponse };

test('texts are stored unchanged', () => {
  expect(providerValues(() => ({ stan: '000017', settlementDate: '' }))).toEqual({
    stan: '000017',
    settlementDate: '',
  });
});

test.each([
  ['a number', 7],
  ['nothing', undefined],
  ['an object', {}],
  ['a NUL, which no column accepts', 'a\0b'],
  ['half a character', '\ud800'],
  ['a novel', 'x'.repeat(256)],
])('a value that is not a short text is left out: %s', (_what, value) => {
  expect(providerValues(() => ({ rrn: '1', value }))).toEqual({ rrn: '1' });
});

/** What is stored of the values of a switch that puts the text into DE63.07. */
async function storedOf(request: IsoMessage, text: string): Promise<ProviderValues> {
  const response = type2.simulate(request, { responseCode: '00' });
  response.reconciliation = { ...response.reconciliation, reconReference: text };
  const parts: Partial<SlotParts> = {
    processor: type2 as Processor,
    config: type2.exampleConfig,
    fieldsOf: () => ({}) as never,
    approvals: new RecentApprovals(),
    exchange: async (_slot, _outgoing, read) => ({
      kind: 'responded',
      value: read(response, request),
      connectionId: 'line',
    }),
  };
  const line = switchSlot({} as never, parts as SlotParts);
  const { value } = (await line.authorize({ message: request } as never, {} as never, ABOUT)) as Responded;
  return value.providerFields;
}

test.each([
  PAN,
  `PAN${PAN}`,
  '4761 7390 0101 0119',
])('a switch that repeats the card number does not bring it into the database: %s', async (text) => {
  const request = type2.authorization(testPurchase(), type2.exampleConfig);
  for (const card of [{ pan: PAN }, { pan: undefined, track2: `${PAN}D301222100000` }]) {
    const stored = await storedOf({ ...request, ...card }, text);
    expect(stored).toMatchObject({ Code: '00' });
    expect(stored).not.toHaveProperty('reconReference');
  }
});

test('the first of very many values are stored', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field${n}`, 'x']));
  expect(Object.keys(providerValues(() => many))).toHaveLength(32);
});

test('a plug-in that throws, or returns nothing, stores nothing: the outcome does not depend on it', () => {
  const throws = () => {
    throw new Error('no settlement date');
  };
  expect([throws, () => null, () => undefined].map((tell) => providerValues(tell))).toEqual([{}, {}, {}]);
});

test('what is stored survives JSON and has no control character, for any values of a plug-in', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (provided) => {
      const kept = providerValues(() => provided);
      expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
      expect(Object.values(kept).join('')).not.toMatch(/\p{Cc}/u);
    }),
  );
});
