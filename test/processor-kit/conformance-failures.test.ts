import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { CheckFailure } from '../../src/kits/plug-ins/check-failure.ts';
import { checkSample } from '../../src/kits/processor-kit/conformance/sample-checks.ts';
import { processorConformance } from '../../src/kits/processor-kit/conformance.ts';
import { messageCodec, type Processor, type ProcessorSample } from '../../src/kits/processor-kit/index.ts';

const processor = type1 as unknown as Processor;
const [sale] = type1.samples;
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
const hexOf = (text: string) => Buffer.from(text, 'latin1').toString('hex').toUpperCase();

/** How the first sample fails if it differs. */
function failureOf(differing: Partial<ProcessorSample>): CheckFailure {
  const codec = processor.codec(processor.exampleConfig);
  try {
    checkSample(codec, processor.spec, { ...sale!, ...differing }, 8_192);
  } catch (error) {
    if (error instanceof CheckFailure) return error;
    throw error;
  }
  throw new Error('the sample is accepted');
}

const withMessage = (differing: object) => ({ message: { ...sale!.message, ...differing } });

test.each([
  [
    'a field with another value',
    withMessage({ tid: 'TERM0009' }),
    /^\S+.*: DE41 \(tid\) at byte \d+: expected 5445524D30303031 "TERM0001", got 5445524D30303039 "TERM0009"$/,
  ],
  [
    'a secret field with another value',
    withMessage({ expiry: '2912' }),
    /DE14 \(expiry\) at byte \d+: expected 4 other/,
  ],
  [
    'a field that the message lacks',
    withMessage({ tid: undefined }),
    /wireHex has DE41 \(tid\) at byte \d+, the message/,
  ],
  [
    'a field that the bytes lack',
    withMessage({ billingFee: '00000001' }),
    /the message has DE8 \(billingFee\), wireHex/,
  ],
  [
    'a value that does not fit its field',
    withMessage({ tid: 'TERMINAL 0001' }),
    /the message does not encode: LENGTH_TOO_LONG: field 41 at byte \d+: .* \(DE41 is tid\)$/,
  ],
  ['bytes that are not hex', { wireHex: 'X0' }, /wireHex has no hex digit at 0$/],
  ['half a byte', { wireHex: '303' }, /wireHex has an odd number of digits$/],
  ['bytes that end too early', { wireHex: sale!.wireHex.slice(0, -20) }, /: /],
] as const)('a sample with %s is explained with its field', (_, differing, why) => {
  const { message } = failureOf(differing as Partial<ProcessorSample>);
  expect(message).toMatch(why);
  expect(message).toContain(sale!.name);
  expect(message).not.toMatch(/411111|541333|3D30|2912/);
});

test('the failure of a sample offers its bytes, those of the message, and the message to paste', () => {
  const [ofSample, encoded, decoded] = failureOf(withMessage({ tid: 'TERM0009' })).details;
  expect(ofSample).toBe(`wireHex of the sample: ${sale!.wireHex.toUpperCase()}`);
  const changed = sale!.wireHex.toUpperCase().replace(hexOf('TERM0001'), hexOf('TERM0009'));
  expect(encoded).toBe(`the message encodes to: ${changed}`);
  const literal = decoded!.slice('wireHex decodes to: '.length);
  const pasted = new Function('fromHex', `return (${literal})`)(fromHex);
  const codec = messageCodec(processor, processor.exampleConfig);
  const target = new Uint8Array(8_192);
  const bytes = target.subarray(0, codec.encode(pasted, target, 0));
  expect(Buffer.from(bytes).toString('hex').toUpperCase()).toBe(sale!.wireHex.toUpperCase());
});

test('an error of a codec is reported with its field and offset, not with a line of the gateway', () => {
  const authorization: Processor['authorization'] = (...purchase) => ({
    ...processor.authorization(...purchase),
    tid: 'TERMINAL 0001',
  });
  const samples = [{ ...sale!, ...withMessage({ tid: 'TERM0009' }) }, ...type1.samples.slice(1)];
  const failed = processorConformance({ ...processor, authorization, samples }).filter(({ passed }) => !passed);
  expect(failed[0]).toMatchObject({
    group: 'samples',
    details: [/^wireHex/, /^the message/, /^wireHex/].map(matching),
  });
  const reasons = failed.map(({ why }) => why);
  expect(reasons.filter((why) => why?.startsWith('LENGTH_TOO_LONG: field 41 at byte')).length).toBeGreaterThan(3);
  expect(reasons.join()).not.toContain('field-codec.ts');
});
