import {
  ANSWER_SLACK_SECONDS,
  LONGEST_DEADLINE_SECONDS,
  OUTCOME_GRACE_SECONDS,
} from '../payments/model/time-limits.ts';
import type { ProcessorTypes } from '../payments/settings/check-routing.ts';
import type { PostgresDirectory } from '../store/directory/directory.ts';

interface WithDeadline {
  readonly profile?: { readonly deadlineMs?: number };
}

type KnownProcessors = Pick<PostgresDirectory, 'processors'>;

/**
 * The longest deadline among the processors of an acquirer, or of all: how long a tap may wait for a switch while its
 * route is not known. Never less than the default of a profile. Recomputed only when the processors change, because
 * each tap that is handed over asks for it.
 */
export class LongestDeadlines {
  readonly #types: ProcessorTypes;
  readonly #directory: KnownProcessors;
  #seen: ReturnType<KnownProcessors['processors']> | undefined;
  #longest = LONGEST_DEADLINE_SECONDS;
  readonly #byAcquirer = new Map<number, number>();

  constructor(types: ProcessorTypes, directory: KnownProcessors) {
    this.#types = types;
    this.#directory = directory;
  }

  /** In seconds, of one acquirer. */
  readonly secondsOf = (acquirerId: number): number => {
    this.#refresh();
    return this.#byAcquirer.get(acquirerId) ?? LONGEST_DEADLINE_SECONDS;
  };

  /** In seconds, of the installation. */
  get seconds(): number {
    this.#refresh();
    return this.#longest;
  }

  /** The longest time that an HTTP request can wait for a switch, with the time to decide about a silent one. */
  get requestMs(): number {
    return (this.seconds + ANSWER_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1_000;
  }

  #refresh(): void {
    const processors = this.#directory.processors();
    if (processors === this.#seen) return;
    this.#seen = processors;
    this.#byAcquirer.clear();
    for (const { acquirerId, type, config } of processors) {
      const own = (config as WithDeadline).profile?.deadlineMs ?? this.#types.get(type)?.profile.deadlineMs ?? 0;
      const before = this.#byAcquirer.get(acquirerId) ?? LONGEST_DEADLINE_SECONDS;
      this.#byAcquirer.set(acquirerId, Math.max(before, own / 1_000));
    }
    this.#longest = Math.max(LONGEST_DEADLINE_SECONDS, ...this.#byAcquirer.values());
  }
}
