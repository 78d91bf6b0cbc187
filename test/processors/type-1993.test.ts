import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type1993 from '../../processors/type-1993/index.ts';
import type { Type1993Message } from '../../processors/type-1993/spec.ts';
import { RESPONSE_CODES } from '../../schemas/response-codes.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { nearestDate } from '../../src/kits/processor-kit/field-values.ts';
import { defineProcessor, type ProcessorDefinition, type SwitchConfig } from '../../src/kits/processor-kit/index.ts';
import { standardFieldReader } from '../../src/switching/switches/standard-fields.ts';

const config = type1993.exampleConfig;
const sale = type1993.authorization(testPurchase(), config);

function outcomeOf(actionCode: string, changes: Partial<Type1993Message> = {}) {
  const response = type1993.simulate(sale, { responseCode: '00', authorizationCode: '123456' });
  return type1993.readOutcome({ ...response, responseCode: actionCode, ...changes }, sale);
}

describe('an action code is what the phone knows under a code of 7.5', () => {
  test.each([
    ['000', 'approved', '00'],
    ['001', 'approved', '08'],
    ['003', 'approved', '11'],
    ['004', 'approved', '16'],
    ['100', 'declined', '05'],
    ['101', 'declined', '54'],
    ['106', 'declined', '75'],
    ['116', 'declined', '51'],
    ['121', 'declined', '61'],
    ['123', 'declined', '65'],
    ['208', 'declined', '41'],
    ['904', 'declined', '30'],
    ['907', 'declined', '91'],
    ['910', 'declined', '91'],
    ['912', 'declined', '91'],
    ['913', 'declined', '94'],
    ['112', 'pinRequired', '70'],
    ['117', 'pinRequired', '55'],
    ['909', 'unknown', '96'],
    ['911', 'unknown', '68'],
    ['923', 'unknown', '09'],
  ])('%s is %s, code %s', (actionCode, kind, responseCode) => {
    expect(outcomeOf(actionCode)).toMatchObject({ kind, responseCode });
    if (responseCode !== '70') expect(RESPONSE_CODES[responseCode]).toBeDefined();
  });
});

test('913, a duplicate, needs review', () => {
  expect(outcomeOf('913')).toMatchObject({ kind: 'declined', needsReview: true });
});

test('a sale is approved by six codes of the series 0 and by no other code of three digits', () => {
  const all = Array.from({ length: 1_000 }, (_, code) => String(code).padStart(3, '0'));
  const approving = all.filter((code) => outcomeOf(code).kind === 'approved');
  expect(approving).toEqual(['000', '001', '003', '004', '005', '007']);
});

test('what accepts a reversal, a network message or an advice approves no sale', () => {
  for (const code of ['300', '400', '500', '600', '700', '800', '900', '901']) {
    expect(outcomeOf(code)).toMatchObject({ kind: 'unknown', responseCode: '' });
  }
});

test('an approval of a sale acknowledges no reversal', () => {
  const original = type1993.originalData(sale);
  const stamp = { stan: '000123', sentAtMs: 0, localDateTime: '20261120161035' };
  const reversal = type1993.reversal({ original, reason: 'timeout', attempt: 1, ...stamp }, config);
  const response = type1993.simulate(reversal, { responseCode: '00' });
  expect(response).toMatchObject({ mti: '1430', responseCode: '400' });
  expect(type1993.readReversalResponse(response)).toBe('acknowledged');
  expect(type1993.readReversalResponse({ ...response, responseCode: '000' })).toBe('undecided');
});

test('a response without an action code is unknown, and its code is empty', () => {
  expect(outcomeOf('', { responseCode: undefined })).toMatchObject({ kind: 'unknown', responseCode: '' });
});

test('a partial approval counts if the request allowed it, and DE30 has the requested amount', () => {
  const allowing = { ...config, profile: { partialApproval: true } };
  const asked = type1993.authorization(testPurchase(), allowing);
  const response = type1993.simulate(asked, { responseCode: '10', amountMinor: 600 });
  expect(response).toMatchObject({
    responseCode: '002',
    amount: '000000000600',
    originalAmounts: '000000001234000000000000',
  });
  expect(type1993.readOutcome(response, asked)).toMatchObject({
    kind: 'approved',
    approvedMinor: 600,
    responseCode: '10',
  });
  expect(type1993.readOutcome({ ...response, responseCode: '000' }, asked)).toMatchObject({ kind: 'unknown' });
});

test('the settlement date with its year is read as the date that it names', () => {
  const response = type1993.simulate(sale, { responseCode: '00' });
  expect(response.settlementDate).toBe('261120');
  const { settlementDate } = standardFieldReader(type1993)(response);
  expect(nearestDate(settlementDate!, Date.UTC(2026, 10, 20))).toBe('2026-11-20');
});

test('a definition with a code that the phone does not know is refused', () => {
  const codes = { ...type1993.profile.codes, declined: [...type1993.profile.codes.declined, '180'] };
  const definition = { ...type1993, profile: { ...type1993.profile, codes } };
  expect(() => defineProcessor(definition as ProcessorDefinition<SwitchConfig, Type1993Message>)).toThrow(
    'profile.codes.meanings: 180 has no code of 7.5',
  );
});

test('a sale is an authorization and a completion where the switch wants both, and one financial request elsewhere', () => {
  const completing = { ...config, completion: true };
  const authorized = type1993.authorization(testPurchase(), completing);
  expect([sale.mti, sale.functionCode, authorized.mti, authorized.functionCode]).toEqual([
    '1200',
    '200',
    '1100',
    '100',
  ]);
  const original = type1993.originalData(authorized);
  const stamp = { stan: '000124', sentAtMs: 0, localDateTime: '20261120161006' };
  const build = (amountMinor: number, attempt: number) =>
    type1993.completion!.build({ original, amountMinor, attempt, ...stamp }, completing);
  expect(build(1_234, 1)).toMatchObject({ mti: '1220', functionCode: '201', original: { messageType: '1100' } });
  expect(build(600, 2)).toMatchObject({
    mti: '1221',
    functionCode: '202',
    originalAmounts: '000000001234000000000000',
  });
  const response = type1993.simulate(build(600, 2), { responseCode: '00' });
  const { isAcknowledged } = type1993.completion!;
  expect(isAcknowledged(response)).toBe(true);
  expect(isAcknowledged({ ...response, responseCode: '901' })).toBe(true);
  expect(isAcknowledged({ ...response, responseCode: '900' })).toBe(false);
});

test.each([
  ['261120161005', true],
  ['280229235959', true],
  ['270229101010', false],
  ['261320101010', false],
  ['261131101010', false],
  ['261120246060', false],
])('DE12 %s exists: %s', (localDateTime, exists) => {
  expect(type1993.readRequest({ ...sale, localDateTime }).faults).toEqual(exists ? [] : ['localDateTime']);
});

test.each([
  ['under DUKPT', { ksn: new Uint8Array(10).fill(7) }, { ksn: new Uint8Array(10).fill(7) }],
  ['under an exchanged zone key', { keyNumber: 9 }, { keyNumber: 9 }],
  ['under the first zone key', {}, { keyNumber: undefined }],
])('a PIN %s arrives with the name of its key in DE53', (_how, key, read) => {
  const block = new Uint8Array(8).fill(5);
  const message = type1993.authorization(testPurchase({ pin: { block, ...key } }), config);
  expect(message.posDataCode).toBe('M10101M1314C');
  expect(type1993.readRequest(message)).toMatchObject({ pin: { block, ...read }, faults: [] });
});

test('the README has a row for each action code that is generated from the profile', () => {
  const readme = readFileSync(new URL('../../processors/type-1993/README.md', import.meta.url), 'utf8');
  for (const row of [
    '| 000 | 00 Approved or completed successfully | approved | undecided |',
    '| 116 | 51 Not sufficient funds | declined | undecided |',
    '| 112 | 70 | PIN required | undecided |',
    '| 400 |  | **unknown** | acknowledges |',
    '| 911 | 68 Response received too late | **unknown** | undecided |',
    '| 914 | 25 Unable to locate record on file | declined | unable to locate |',
  ])
    expect(readme).toContain(row);
});
