import type { MessageCodec, Processor, SwitchConfig } from '../processor.ts';

/** What a check works with: the processor, a valid configuration, and the codec of that dialect. */
export interface Subject {
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly codec: MessageCodec;
}

/** One statement about a processor; `run` throws if it does not hold. */
export interface Check {
  readonly name: string;
  run(subject: Subject): void;
}
