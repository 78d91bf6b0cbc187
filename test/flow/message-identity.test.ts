import { beforeEach, expect, test } from 'vitest';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { outcomeOf } from '../support/responses.ts';
import { scriptedInstallation } from '../support/scripted-installation.ts';

const scene = scriptedInstallation();
beforeEach(() => scene.install());

/** Of one acquirer and three merchants. */
const TILLS = ['coffee', 'bakery', 'flowers'] as const;
const ROUNDS = 10;

type Keyed = IsoMessage & { readonly switchData?: { readonly switchKey?: string; readonly originalKey?: string } };

/** A tap at each till, at one moment. */
const tapEverywhere = (amount: string) =>
  Promise.all(TILLS.map((till) => scene.installation.phone(till).tap({ amount, currency: 'ZAR' })));

test('sales at three tills of an acquirer share no STAN, RRN or 127.2', async () => {
  const rounds = await Promise.all(Array.from({ length: ROUNDS }, () => tapEverywhere('10.00')));
  const outcomes = rounds.flat().map(outcomeOf);
  expect(outcomes.map(({ type }) => type)).toEqual(outcomes.map(() => 'Approved'));
  const sales = scene.scripted.of('0200').map(({ message }) => message as Keyed);
  expect(new Set(sales.map(({ tid }) => tid)).size).toBe(TILLS.length);
  const distinct = (values: unknown[]) => new Set(values).size;
  expect(sales).toHaveLength(TILLS.length * ROUNDS);
  expect(distinct(sales.map(({ switchData }) => switchData?.switchKey))).toBe(sales.length);
  expect(distinct(sales.map(({ rrn }) => rrn))).toBe(sales.length);
  expect(distinct(sales.map(({ stan, transmissionDateTime }) => `${stan}${transmissionDateTime}`))).toBe(sales.length);
  const references = outcomes.map(
    (outcome) => 'paymentProviderReference' in outcome && outcome.paymentProviderReference,
  );
  expect(distinct(references)).toBe(sales.length);
});

test('a switch that finds a sale by 127.11, or by DE90 alone, reverses the sale of the right till', async () => {
  /** The first sale with a key is found, as processors/type-1/README.md describes it. */
  const byKey = new Map<string, Keyed>();
  const byElements = new Map<string, Keyed>();
  const reversed: { readonly by127: Keyed | undefined; readonly by90: Keyed | undefined; readonly request: Keyed }[] =
    [];
  const silentAt = new Set<string>();
  scene.scripted.onRequest = (request) => {
    const message = request.message as Keyed;
    const { mti, stan, transmissionDateTime, originalElements, switchData = {} } = message;
    if (mti !== '0200') {
      const by127 = byKey.get(switchData.originalKey ?? '');
      reversed.push({ by127, by90: byElements.get(String(originalElements).slice(4, 20)), request: message });
      return request.respond();
    }
    if (!byKey.has(switchData.switchKey!)) byKey.set(switchData.switchKey!, message);
    if (!byElements.has(`${stan}${transmissionDateTime}`)) byElements.set(`${stan}${transmissionDateTime}`, message);
    if (!silentAt.has(String(message.tid))) request.respond();
  };
  silentAt.add('TW101101'); // flowers
  const [coffee, bakery, flowers] = await tapEverywhere('12.00');
  expect([coffee, bakery].map((response) => outcomeOf(response!).type)).toEqual(['Approved', 'Approved']);
  const uncertain = outcomeOf(flowers!);
  expect(uncertain.type).toBe('Indeterminate');
  await eventually(async () => {
    expect(await scene.stored(uncertain.serviceReference)).toMatchObject({ disposition: Disposition.Voided });
  });
  expect(reversed.length).toBeGreaterThan(0);
  for (const { by127, by90, request } of reversed) {
    expect(request).toMatchObject({ tid: 'TW101101' });
    expect(by127).toMatchObject({ tid: request.tid, mid: request.mid });
    expect(by90).toMatchObject({ tid: request.tid, mid: request.mid });
  }
});
