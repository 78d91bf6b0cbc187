import { describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { valuesOf } from '../../src/kits/processor-kit/conformance/sample-checks.ts';
import { type IsoMessage, messageCodec, type Processor, switchProtocol } from '../../src/kits/processor-kit/index.ts';
import { macFieldNames } from '../../src/kits/processor-kit/mac-rule.ts';

/** DE1 is the second bitmap, and DE65 would be a third one. */
const BITMAPS = [1, 65];

describe.each([
  { processor: type1 as Processor, last: 128 },
  { processor: type2 as Processor, last: 64 },
  { processor: type1993 as Processor, last: 128 },
])('a response of $processor.type', ({ processor, last }) => {
  const config = { ...processor.exampleConfig, macKeys: undefined };
  const request = processor.authorization(testPurchase(), config);
  const approval = () => processor.simulate(request, { responseCode: '00', authorizationCode: '123456' });
  const codec = messageCodec(processor, config);
  const bytesOf = (message: IsoMessage) => {
    const bytes = new Uint8Array(processor.framing.maxFrameBytes);
    return bytes.subarray(0, codec.encode(message, bytes, 0));
  };

  test('may have every field that the standard defines', () => {
    const known = Object.keys(processor.spec.fields).map(Number);
    const standard = Array.from({ length: last }, (_, at) => at + 1).filter((number) => !BITMAPS.includes(number));
    expect(standard.filter((number) => !known.includes(number))).toEqual([]);
  });

  test('is read as the same outcome with each field that the gateway does not use', () => {
    const before = processor.readOutcome(codec.decode(bytesOf(approval()), 0, bytesOf(approval()).length), request);
    expect(before.kind).toBe('approved');
    const isUsed = (name: string) => request[name] !== undefined || approval()[name] !== undefined;
    const unused = Object.entries(processor.spec.fields).filter(([, { name }]) => !isUsed(name));
    expect(unused.length).toBeGreaterThan(25);
    const macFields = macFieldNames(processor.mac!);
    for (const [number, field] of unused) {
      if (macFields.includes(field.name)) continue; // refused if no key is configured
      for (const value of valuesOf(field)) {
        const bytes = bytesOf({ ...approval(), [field.name]: value } as IsoMessage);
        expect(processor.readOutcome(codec.decode(bytes, 0, bytes.length), request), `DE${number}`).toEqual(before);
      }
    }
  });

  test('a response that cannot be read is reported with the field, its place and the STAN of the request, and nothing of its content', () => {
    const options = { nextStan: () => '000001', nowMs: () => 0 };
    const protocol = switchProtocol(processor, config, options);
    const bytes = bytesOf(approval());
    const cut = bytes.subarray(0, bytes.length - 1);
    let refused: unknown;
    try {
      protocol.decode(cut, 0, cut.length);
    } catch (error) {
      refused = error;
    }
    const { field, offset, stan, ...others } = protocol.faultFields(refused, request);
    expect(field).toMatch(/^[\w.]+$/);
    expect(offset).toBeGreaterThan(20);
    expect(stan).toBe(request.stan);
    expect(others).toEqual({});
    expect(protocol.faultFields(refused, undefined)).toEqual({ field, offset });
  });
});
