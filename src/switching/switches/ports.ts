import type { WorkingKeyUse } from '../../kits/processor-kit/processor.ts';
import type { SwitchIdentity } from '../../kits/processor-kit/switch-config.ts';
import type { AttemptName, TakenStan } from '../../payments/ports/switch-ports.ts';

/** The scope in which a STAN is unique: a terminal of an acquirer, or all of its messages. */
interface StanScope {
  readonly acquirerId: number;
  /** DE41, at most 8 characters; a longer text names a scope that is not a terminal. Null: the whole acquirer. */
  readonly tid: string | null;
}

/** Source of the numbers in DE11. */
export interface Stans {
  /**
   * Returns the next number of a scope; undefined if its business date (`2026-11-20`) has none left.
   *
   * @param leaving how many of the day's numbers must remain for others; none by default
   */
  next(scope: StanScope, day: string, leaving?: number): Promise<TakenStan | undefined>;
}

/** The business dates of switches, as the switches announce them. */
export interface BusinessDates {
  /** The date by which an acquirer's numbers are counted, `2026-11-20`. */
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
  /** Id of the key in the HSM. */
  readonly keyId: string;
  readonly use: WorkingKeyUse;
  /** Number of the key in messages. */
  readonly number: number;
  readonly transportKeyId: string;
  readonly form: 'keyBlock' | 'cryptogram';
  /** The key block, or the cryptogram in hex. */
  readonly wrapped: string;
  readonly kcv: string;
}

export interface LiveKey extends ExchangedKey {
  readonly announcedMsAgo: number;
  /** Time since the switch was informed that the gateway has it; null if that is not certain. */
  readonly acknowledgedMsAgo: number | null;
  /** Time until it retires; null until another key replaces it. */
  readonly endsInMs: number | null;
}

/** A key of the configuration that an exchanged key has replaced. */
export interface ReplacedKey {
  readonly use: WorkingKeyUse;
  readonly keyId: string;
  /** Negative after it has retired. */
  readonly endsInMs: number;
}

/** The keys of one switch. */
interface KeysOfSwitch {
  /** The exchanged keys that have not retired, the last announced first. */
  readonly live: readonly LiveKey[];
  readonly replaced: readonly ReplacedKey[];
}

/** How an acknowledged key replaces others. */
export interface Replacement {
  readonly overlapSeconds: number;
  /** Ids of the configuration's keys for the same use. */
  readonly configured: readonly string[];
}

/**
 * Stores exchanged keys. All workers of an installation share them, and they survive a restart. Changes of the keys of
 * one switch and use run one after another.
 */
export interface ExchangedKeys {
  read(processor: ProcessorKey): Promise<KeysOfSwitch>;
  /**
   * Stores a key before the switch is informed that the gateway has it.
   *
   * @returns the id under which it is stored, which differs if the switch repeats the announcement of a key that has not
   *   been replaced; `replayed` if the switch has announced this key before, and it has been replaced
   * @throws StoreUnavailable, which says whether it may be stored
   */
  keep(processor: ProcessorKey, key: ExchangedKey): Promise<{ keyId: string } | 'replayed'>;
  /**
   * The switch was informed: previous keys retire at the end of the overlap. A key that was announced at the same moment does
   * not, because the switch may consider either the later one.
   */
  acknowledge(
    processor: ProcessorKey,
    key: Pick<ExchangedKey, 'keyId' | 'use'>,
    replacement: Replacement,
  ): Promise<void>;
  /**
   * Remembers an announced key that the gateway refuses. The switch then drops it, so a replay must not be taken.
   *
   * @returns whether it may be refused: not if another process has taken it, because the switch has announced it twice
   */
  refuse(processor: ProcessorKey, key: Pick<ExchangedKey, 'use' | 'kcv'>): Promise<boolean>;
  /** The right to request a key, for the given number of seconds; false while another process has it. */
  claim(processor: ProcessorKey, use: WorkingKeyUse, seconds: number): Promise<boolean>;
  release(processor: ProcessorKey, use: WorkingKeyUse): Promise<void>;
}

/** A processor that a worker cannot open, with the reason: names of files, keys and settings, never their content. */
export interface ProcessorFault extends ProcessorKey {
  readonly reason: string;
}

/** Receives the processors that workers cannot open, for the person who manages processors. */
export interface ProcessorFaults {
  tell(faults: readonly ProcessorFault[]): Promise<void>;
}

/** Keeps what identifies each switch, so that a type that reads a configuration differently is noticed. */
export interface SwitchIdentities {
  /** Stores the identity of a processor that has none yet, unless its configuration was changed since it was read. */
  adopt(
    processor: { readonly acquirerId: number; readonly id: number; readonly config: unknown },
    identity: SwitchIdentity,
  ): Promise<void>;
}

/**
 * A message as people may see it: its bytes with all secrets overwritten, or only its length if that is not possible.
 */
export type MaskedMessage = Uint8Array | number;

/** A request to a switch and its response. */
export interface Exchange {
  readonly about: AttemptName;
  readonly kind: 'authorization' | 'reversal' | 'completion';
  /** For a reversal or completion, the number of the attempt; 1 for everything else. */
  readonly number: number;
  readonly processorId: number;
  readonly connectionId: string;
  readonly sentAtMs: number;
  readonly tookMs: number;
  /** `responded`, `garbled`, or why there is no response. */
  readonly outcome: string;
  /** An ordinary approval, which is the least interesting for people. */
  readonly isRoutine: boolean;
  /** Undefined if it was never encoded. */
  readonly request: MaskedMessage | undefined;
  readonly response: MaskedMessage | undefined;
}

/** Stores messages for people in the background; messages may be dropped. */
export interface MessageKeeper {
  /** False if nothing is stored; then nothing needs to be masked. */
  readonly isKeeping: boolean;
  /** Never throws, and no caller waits for it. */
  keep(exchange: Exchange): void;
}
