import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { PlugInError } from '../../src/basics/errors.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { defineProcessor } from '../../src/kits/processor-kit/define-processor.ts';
import { recordMacVerdict } from '../../src/kits/processor-kit/mac-layout.ts';

const request = type1.authorization(testPurchase(), type1.exampleConfig);
const approval = () => type1.simulate(request, { responseCode: '00', authorizationCode: '123456' });

test('a processor whose reading throws leaves the outcome unknown', () => {
  const broken = defineProcessor({
    ...type1,
    readOutcome() {
      throw new Error('no');
    },
  });
  expect(broken.readOutcome(approval(), request)).toMatchObject({ kind: 'unknown', responseCode: '' });
});

test('a processor that approves everything is overruled for a response that does not belong to the request', () => {
  const credulous = defineProcessor({
    ...type1,
    readOutcome: () => ({ kind: 'approved', approvedMinor: 1, responseCode: '00', cardTags: [] }),
  });
  expect(credulous.readOutcome(approval(), request).kind).toBe('approved');
  expect(credulous.readOutcome({ ...approval(), stan: '999999' }, request).kind).toBe('unknown');
  expect(credulous.readOutcome({ ...approval(), mti: '0430' }, request).kind).toBe('unknown');
});

test('an unknown outcome keeps the facts and its reason, and has no approved amount', () => {
  const outcome = type1.readOutcome({ ...approval(), rrn: '000000000000' }, request);
  expect(outcome).toMatchObject({ kind: 'unknown', why: 'rrn differs from the request', responseCode: '00' });
  expect(outcome).not.toHaveProperty('approvedMinor');
});

test.each(['bad', 'unverifiable'] as const)('a %s MAC makes an approval unknown', (verdict) => {
  const response = approval();
  recordMacVerdict(response, verdict);
  expect(type1.readOutcome(response, request)).toMatchObject({ kind: 'unknown', why: `MAC ${verdict}` });
});

test.each(['bad', 'unverifiable'] as const)('a response whose MAC is %s contributes no fact', (verdict) => {
  const response = approval();
  recordMacVerdict(response, verdict);
  const outcome = type1.readOutcome(response, request);
  expect(outcome).toEqual({ kind: 'unknown', why: `MAC ${verdict}`, responseCode: '', cardTags: [] });
});

test('the verdict on a MAC is not a field', () => {
  const response = approval();
  recordMacVerdict(response, 'good');
  expect(Object.keys(response)).toEqual(Object.keys(approval()));
  expect(type1.readOutcome(response, request).kind).toBe('approved');
});

test.each([
  ['a type with spaces', { type: 'type 1' }],
  ['an invalid example config', { exampleConfig: { ...type1.exampleConfig, acquirerId: 'letters' } }],
  ['no way to pair reversals', { match: { 2: ['stan'] } }],
  ['no way to pair sales', { match: { 4: ['stan'] } }],
  ['a MAC in a field that others may follow', { mac: { ...type1.mac!, field: 'securityControl' } }],
  ['a MAC in a field that is text', { mac: { ...type1.mac!, field: 'reasonCode' } }],
  ['a MAC by bitmap whose first field is not DE64', { mac: { ...type1.mac!, field: ['pinBlock', 'mac'] as const } }],
  [
    'a MAC by bitmap whose second field is not DE128',
    { mac: { ...type1.mac!, field: ['mac', 'primaryMac'] as const } },
  ],
  ['a MAC of another length than its field', { mac: { ...type1.mac!, lengthBytes: 4 } }],
  ['echoes that tell no day from another', { profile: { ...type1.profile, echoed: ['amount', 'stan', 'tid'] } }],
  ['a class that is paired by nothing', { match: { ...type1.match, 8: [] } }],
  [
    'a code with two meanings',
    { profile: { ...type1.profile, codes: { ...type1.profile.codes, approved: ['00', '51'] } } },
  ],
  [
    'no delays between reversals',
    { profile: { ...type1.profile, reversal: { ...type1.profile.reversal, delaysSeconds: [] } } },
  ],
  ['no framing', { framing: undefined as never }],
  ['a length header that is no row of the table', { framing: { ...type1.framing, lengthHeader: 'binary-3' as never } }],
  [
    'frames longer than their length can announce',
    { framing: { lengthHeader: 'ascii-4' as const, maxFrameBytes: 10_000 } },
  ],
  ['two samples of one name', { samples: [type1.samples[0]!, type1.samples[0]!] }],
])('a definition with %s is refused', (_, differing) => {
  expect(() => defineProcessor({ ...type1, ...differing })).toThrow(PlugInError);
});
