import { describe, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import { processorConformance } from '../../src/processor-kit/conformance.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';

const processors = await loadProcessors();

describe.each([...processors.values()])('$name conforms', (processor) => {
  test.each(processorConformance(processor))('$group: $check', ({ why }) => {
    expect(why).toBeUndefined();
  });
});

describe('type 1 with chip data in XML conforms', () => {
  const config = configSchema.parse({ ...processors.get('type-1')!.exampleConfig, iccForm: 'xml' });
  test.each(processorConformance(processors.get('type-1')!, config))('$group: $check', ({ why }) => {
    expect(why).toBeUndefined();
  });
});

test('a failure names its error and where it was thrown, and quotes nothing of it', () => {
  const type1 = processors.get('type-1')!;
  const talkative = (): never => {
    throw new TypeError('cannot read:\n4111111111111111 at once');
  };
  const failed = processorConformance({ ...type1, readRequest: talkative }).filter(({ passed }) => !passed);
  expect(failed.length).toBeGreaterThan(3);
  for (const { why } of failed) expect(why).toMatch(/^(TypeError at .*conformance\.test\.ts|[^4]*$)/);
  expect(JSON.stringify(failed)).not.toContain('411111');
});
