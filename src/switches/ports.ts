import type { WorkingKeyUse } from '../processor-kit/processor.ts';
import type { AttemptName } from '../transactions/ports/switch-ports.ts';

/** Within what a STAN is unique: a terminal of an acquirer's, or all of its messages. */
export interface StanScope {
  readonly acquirerId: number;
  /** DE41, at most 8 characters; a longer text names something that is no terminal. Null: the whole acquirer. */
  readonly tid: string | null;
}

/** Where the numbers of DE11 come from. */
export interface Stans {
  /**
   * The next one of a scope; undefined when its business day (`2026-11-20`) has none left.
   *
   * @param leaving how many of the day's numbers must stay for others; none unless given
   */
  next(scope: StanScope, day: string, leaving?: number): Promise<string | undefined>;
}

/** The business dates of switches, as they tell them. */
export interface BusinessDates {
  /** By which an acquirer's numbers are counted, `2026-11-20`. */
  current(acquirerId: number): string;
  /** A switch has cut over, or has named its settlement date (MMDD). */
  announce(processor: { readonly acquirerId: number; readonly processorId: number }, monthDay?: string): void;
}

/** A processor of an acquirer. */
export interface ProcessorKey {
  readonly acquirerId: number;
  readonly processorId: number;
}

/** A working key as a switch has announced it: enciphered under a key of the HSM. */
export interface ExchangedKey {
  /** By which the HSM knows it. */
  readonly keyId: string;
  readonly use: WorkingKeyUse;
  /** By which messages name it. */
  readonly number: number;
  readonly transportKeyId: string;
  readonly form: 'keyBlock' | 'cryptogram';
  /** The key block, or the cryptogram in hex. */
  readonly wrapped: string;
  readonly kcv: string;
}

export interface LiveKey extends ExchangedKey {
  /** Since the switch was told that we have it; null when that is not certain. */
  readonly acknowledgedMsAgo: number | null;
}

/** Where exchanged keys are kept: shared by all workers of an installation, and there after a restart. */
export interface ExchangedKeys {
  /** Those that are accepted, the newest first. */
  live(processor: ProcessorKey): Promise<readonly LiveKey[]>;
  /** Before the switch is told that we have it. */
  keep(processor: ProcessorKey, key: ExchangedKey): Promise<void>;
  /** The switch was told: those before it retire when the overlap is over. */
  acknowledge(processor: ProcessorKey, key: Pick<ExchangedKey, 'keyId' | 'use'>, overlapSeconds: number): Promise<void>;
  /** The right to ask for a key, for so many seconds; false while another process has it. */
  claim(processor: ProcessorKey, use: WorkingKeyUse, seconds: number): Promise<boolean>;
  release(processor: ProcessorKey, use: WorkingKeyUse): Promise<void>;
}

/** A processor that a worker cannot open, and why: names of files, keys and settings, never their content. */
export interface ProcessorFault extends ProcessorKey {
  readonly reason: string;
}

/** Where workers tell what they cannot open, so that whoever manages processors sees it. */
export interface ProcessorFaults {
  tell(faults: readonly ProcessorFault[]): Promise<void>;
}

/** A message as people may see it: its bytes with everything secret overwritten, or how many they are where that cannot be done. */
export type MaskedMessage = Uint8Array | number;

/** A request to a switch and what came back. */
export interface Exchange {
  readonly about: AttemptName;
  readonly kind: 'authorization' | 'reversal' | 'completion';
  /** Of a reversal or completion, which try it is; 1 for everything else. */
  readonly number: number;
  readonly processorId: number;
  readonly connectionId: string;
  readonly sentAtMs: number;
  readonly tookMs: number;
  /** `answered`, `garbled`, or why there is no answer. */
  readonly outcome: string;
  /** An approval like any other: the least worth looking at. */
  readonly isRoutine: boolean;
  /** Undefined when it was never made into bytes. */
  readonly request: MaskedMessage | undefined;
  readonly response: MaskedMessage | undefined;
}

/** Where messages are kept for people: in the background, and not at any price. */
export interface MessageKeeper {
  /** False when nothing is kept at all: then nothing needs to be masked. */
  readonly isKeeping: boolean;
  /** Never throws, and nobody waits for it. */
  keep(exchange: Exchange): void;
}
