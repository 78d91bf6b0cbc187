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
