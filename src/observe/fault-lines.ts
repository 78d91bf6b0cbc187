import { LogBudget } from '../basics/limits/log-budget.ts';
import { type Log, safeError } from './log.ts';

/** An outage of the database is one event, and would otherwise be hundreds of equal lines a minute. */
const REPEAT_MS = 10_000;
/** Limit of remembered kinds of faults: there are about thirty texts with a few codes each. Above it, they are logged again. */
const MAX_KINDS = 200;

/**
 * Writes faults that can occur with every tap and poll. The first one of a kind is logged at once, and then one line
 * for each ten seconds, with the number of those that were omitted before it (`suppressed`).
 */
export class FaultLines {
  readonly #log: Pick<Log, 'error'>;
  readonly #monotonicMs: () => number;
  readonly #budgets = new Map<string, LogBudget>();

  constructor(log: Pick<Log, 'error'>, monotonicMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  /** @param about further fields; they do not distinguish kinds */
  write(what: string, error: unknown, about: Readonly<Record<string, unknown>> = {}): void {
    const { class: name, code } = safeError(error) as { class: string; code?: string };
    const kind = `${what} ${name} ${code}`;
    this.#budgetOf(kind).spend(this.#monotonicMs(), (suppressed) =>
      this.#log.error({ error, ...about, ...(suppressed > 0 && { suppressed }) }, what),
    );
  }

  #budgetOf(kind: string): LogBudget {
    const known = this.#budgets.get(kind);
    if (known) return known;
    if (this.#budgets.size >= MAX_KINDS) this.#budgets.clear();
    const budget = new LogBudget(1, REPEAT_MS);
    this.#budgets.set(kind, budget);
    return budget;
  }
}
