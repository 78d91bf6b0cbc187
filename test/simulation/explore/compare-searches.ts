import type { Case } from './cases.ts';
import { POLICIES } from './policies.ts';
import { type SearchOptions, type SearchResult, search } from './search.ts';

/** More than any search finds: both look at everything. */
const ALL = 100_000;

export interface Comparison {
  readonly states: { readonly reduced: number; readonly whole: number };
  /** Violations and outcomes that one of the searches has found, and the other has not. */
  readonly missed: readonly string[];
  readonly added: readonly string[];
  /** Violations that both have found. */
  readonly faults: readonly string[];
}

/** Searches a case twice, with the reduction and without it: both must find the same. */
export async function compareSearches(
  explored: Case,
  options: Pick<SearchOptions, 'depth' | 'mostFaults' | 'sabotage'>,
): Promise<Comparison> {
  const both = { ...options, policies: POLICIES, mostViolations: ALL };
  const reduced = await search(explored, { ...both, isReduced: true });
  const whole = await search(explored, { ...both, isReduced: false });
  const found = new Set([...faultsOf(reduced), ...reduced.outcomes]);
  const all = new Set([...faultsOf(whole), ...whole.outcomes]);
  return {
    states: { reduced: reduced.states, whole: whole.states },
    missed: [...all].filter((each) => !found.has(each)),
    added: [...found].filter((each) => !all.has(each)),
    faults: [...faultsOf(reduced)],
  };
}

/** Each violation alone, without the names that two refunds exchange and the numbers that depend on an order. */
function faultsOf({ violations }: SearchResult): Set<string> {
  const faults = violations.flatMap((violation) => violation.faults);
  return new Set(
    faults.map((fault) => fault.replace('second refund', 'refund').replaceAll(/request \d+/g, 'a request')),
  );
}
