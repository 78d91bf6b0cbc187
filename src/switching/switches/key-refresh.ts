import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyFaults } from './key-faults.ts';
import type { WorkingKeys } from './working-keys.ts';

/**
 * If no key fits a message, the gateway checks whether another worker has exchanged one; at most once in this time.
 */
const LOOK_AGAIN_MS = 100;

/** Reads the keys that other workers have stored; shared by concurrent callers, and limited in frequency. */
export class KeyRefresh {
  readonly #keys: WorkingKeys;
  readonly #faults: KeyFaults;
  #next: Promise<void> | undefined;
  #pause: Promise<void> = Promise.resolve();

  constructor(keys: WorkingKeys, faults: KeyFaults) {
    this.#keys = keys;
    this.#faults = faults;
  }

  /** Resolves after a read that began after the call. */
  lookAgain(): Promise<void> {
    this.#next ??= this.#pause.then(async () => {
      this.#next = undefined; // later callers may need keys that are stored only now
      this.#pause = sleep(LOOK_AGAIN_MS, undefined, { ref: false });
      await this.#keys.refresh().catch((error: unknown) => this.#faults.record(error));
    });
    return this.#next;
  }
}
