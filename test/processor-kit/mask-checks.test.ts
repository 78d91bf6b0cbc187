import { expect, test } from 'vitest';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import type { Field } from '../../src/codecs/iso8583/rows.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { CheckFailure } from '../../src/kits/plug-ins/check-failure.ts';
import { maskChecks } from '../../src/kits/processor-kit/conformance/mask-checks.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { MessageCodec, Processor } from '../../src/kits/processor-kit/processor.ts';

const type2 = (await loadProcessors()).get('type-2')!;

/** Type 2 with one field marked as visible to everybody. */
function showing(number: number): Processor {
  const { fields } = type2.spec;
  const spec: Spec = { ...type2.spec, fields: { ...fields, [number]: { ...fields[number]!, safe: true } as Field } };
  return { ...type2, spec, codec: () => compileSpec(spec) as MessageCodec };
}

function whyNot(processor: Processor): string[] {
  const { exampleConfig: config } = processor;
  return maskChecks.flatMap(({ run }) => {
    try {
      run({ processor, config, codec: processor.codec(config) });
      return [];
    } catch (error) {
      expect(error).toBeInstanceOf(CheckFailure);
      return [(error as Error).message];
    }
  });
}

test.each([
  ['its PAN', 2, 'digits of the card'],
  ['its track 2', 35, 'digits of the card'],
  ['its PIN block', 52, 'the PIN block is visible'],
  ['its MAC', 64, 'the MAC is visible'],
])('a processor whose field table would show %s is refused', (_, number, why) => {
  const reasons = whyNot(showing(number));
  expect(reasons.join('; ')).toContain(why);
  expect(reasons.join('; ')).not.toMatch(/[0-9]{7}/);
});

test('a processor whose codec has no field table is refused: nothing of its messages could be kept', () => {
  const { encode, decode } = type2.codec(type2.exampleConfig);
  expect(whyNot({ ...type2, codec: () => ({ encode, decode }) })).toHaveLength(3);
});

test('a processor whose codec uses another field table than it declares is refused', () => {
  const spec = { ...type2.spec, fields: { ...type2.spec.fields, 3: type2.spec.fields[4]! } };
  const codec = type2.codec(type2.exampleConfig);
  expect(whyNot({ ...type2, codec: () => ({ ...codec, spec }) })).toHaveLength(3);
});
