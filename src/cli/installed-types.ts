import { readProcessorNames } from '../config.ts';
import { loadProcessors } from '../processor-kit/load-processors.ts';
import type { Processor } from '../processor-kit/processor.ts';

/**
 * The processor types that a gateway started here would load, those of PROCESSORS included. @throws ProcessorError
 */
export function installedTypes(): Promise<ReadonlyMap<string, Processor>> {
  return loadProcessors({ external: readProcessorNames(process.env) });
}
