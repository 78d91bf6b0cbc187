import type { Sabotage } from '../memory-store.ts';
import type { Case } from './cases.ts';
import { choicesIn, isFault } from './choices.ts';
import { DEVIATIONS, deviationWord, isDeviation, parseDeviation } from './deviations.ts';
import type { Execution } from './execution.ts';
import { Judgement } from './judgement.ts';
import { ExcuseSets, KnownStates } from './known-states.ts';
import type { Policy } from './policies.ts';
import { goOn, type History, replay, takeStep } from './replay.ts';
import { nameExactly, nameState } from './state-text.ts';

export interface SearchOptions {
  /** Events of a history, not counting the setup of its case. */
  readonly depth: number;
  /** How many of them may be faults of processes, connections and the database; the switch may err without limit. */
  readonly mostFaults: number;
  readonly policies: readonly Policy[];
  /** False: states are alike only if they are equal, and nothing is left out. */
  readonly isReduced?: boolean;
  /** A guard of the database that is missing. */
  readonly sabotage?: Sabotage | undefined;
  readonly untilMs?: number;
  readonly mostViolations?: number;
  readonly onLevel?: ((depth: number, states: number) => void) | undefined;
}

export interface Violation {
  readonly history: History;
  readonly policy: Policy;
  readonly faults: readonly string[];
}

export interface SearchResult {
  /** Distinct states. */
  readonly states: number;
  readonly executions: number;
  /** Every history with this many events was explored. */
  readonly depth: number;
  readonly violations: readonly Violation[];
  /** What can become of the transactions. */
  readonly outcomes: ReadonlySet<string>;
}

/** Executions that are kept so that longer histories need not start from the beginning: each takes some kilobytes. */
const MAX_KEPT = 20_000;
/** Executions of the histories that were looked at last: the next one shares most of its events with them. */
const MAX_RECENT = 32;

/** A history that is to be continued: a word after another history. */
interface Node {
  readonly before: Node | undefined;
  readonly word: string;
  readonly faults: number;
  /** Whether its state is new: then everything may come next. Otherwise only what deviates in its last step. */
  readonly isNew: boolean;
  readonly deviations: readonly string[];
  kept?: Execution;
}

/** Explores every history of a case, shortest first. Of histories that lead to one state only the first continues. */
export async function search(explored: Case, options: SearchOptions): Promise<SearchResult> {
  // Every other step throws a refusal, and no code reads its stack.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const search = new Search(explored, options);
    await search.run();
    return search;
  } finally {
    Error.stackTraceLimit = stackTraceLimit; // the next test file of this process may read stacks
  }
}

class Search implements SearchResult {
  readonly violations: Violation[] = [];
  executions = 0;
  depth = 0;
  readonly #case: Case;
  readonly #options: SearchOptions;
  readonly #isReduced: boolean;
  readonly #seen: KnownStates;
  readonly #judgement: Judgement;
  readonly #recent = new Map<Node, Execution>();
  #kept = 0;

  constructor(explored: Case, options: SearchOptions) {
    this.#case = explored;
    this.#options = options;
    this.#isReduced = options.isReduced ?? true;
    const sets = new ExcuseSets();
    this.#seen = new KnownStates(sets);
    // The rules of an honest switch hold to the end.
    const policies: readonly Policy[] = explored.behaviour ? ['obliging'] : options.policies;
    this.#judgement = new Judgement(policies, sets, this.#isReduced);
  }

  get states(): number {
    return this.#seen.count;
  }

  async run(): Promise<void> {
    const { depth, onLevel } = this.#options;
    const beginning = await this.#look(undefined, '', await this.#begin(), depth > 0);
    let level = beginning ? [beginning] : [];
    onLevel?.(0, this.states);
    for (let events = 1; events <= depth; events++) {
      const next: Node[] = [];
      for (const node of level) {
        if (this.#isOver) return;
        for await (const after of this.#after(node, events < depth)) next.push(after);
      }
      this.depth = events;
      onLevel?.(events, this.states);
      level = next;
    }
  }

  #begin(): Promise<Execution> {
    return replay(this.#case, [], { isReduced: this.#isReduced, sabotage: this.#options.sabotage });
  }

  get outcomes(): ReadonlySet<string> {
    return this.#judgement.outcomes;
  }

  get #isOver(): boolean {
    const { untilMs = Number.POSITIVE_INFINITY, mostViolations = 1 } = this.#options;
    return Date.now() > untilMs || this.violations.length >= mostViolations;
  }

  /** Everything that may come next: something else in the step that was the last, or another step. */
  async *#after(node: Node, goesOn: boolean): AsyncGenerator<Node> {
    for (const word of node.deviations) {
      const execution = await this.#goOn(node, word);
      const after = await this.#look(node, word, execution, goesOn);
      if (after) yield after;
    }
    if (!node.isNew) return;
    const execution = await this.#executionOf(node);
    for (const choice of choicesIn(execution, this.#case)) {
      if (!this.#mayDeviate(node.faults) && isFault(choice.word)) continue;
      const fork = await execution.fork();
      await takeStep(fork, choice);
      const after = await this.#look(node, choice.word, fork, goesOn);
      if (after) yield after;
    }
  }

  #mayDeviate(faults: number): boolean {
    return faults < this.#options.mostFaults;
  }

  /** Looks at what a history has led to, and judges it. */
  async #look(
    before: Node | undefined,
    word: string,
    execution: Execution,
    goesOn: boolean,
  ): Promise<Node | undefined> {
    this.executions++;
    const faults = (before?.faults ?? 0) + (isFault(word) ? 1 : 0);
    const isNew = this.#seen.add(this.#isReduced ? nameState(execution) : nameExactly(execution));
    const deviations = goesOn && this.#mayDeviate(faults) && word !== '' ? deviationsAfter(word, execution) : [];
    const node: Node = { before, word, faults, isNew, deviations };
    if (isNew) await this.#judge(node, execution);
    if (!goesOn || (!isNew && deviations.length === 0)) return undefined;
    if (isNew && this.#kept < MAX_KEPT) {
      this.#kept++;
      node.kept = execution;
    }
    return node;
  }

  async #executionOf(node: Node): Promise<Execution> {
    const known = node.kept ?? this.#recent.get(node);
    if (known) return known;
    if (!node.before) return this.#begin();
    const execution = await this.#goOn(node.before, node.word);
    this.#recent.set(node, execution);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= MAX_RECENT) break;
      this.#recent.delete(oldest);
    }
    return execution;
  }

  /** The execution of a history and one more word. */
  async #goOn(node: Node, word: string): Promise<Execution> {
    const words = [word];
    let from: Node = node;
    // A word that deviates belongs to the step before it.
    for (; isDeviation(words[0]!); from = from.before!) words.unshift(from.word);
    const execution = await (await this.#executionOf(from)).fork();
    return goOn(execution, this.#case, words);
  }

  async #judge(node: Node, execution: Execution): Promise<void> {
    const verdict = await this.#judgement.judge(execution);
    const isKnown = this.violations.some((known) => known.faults.join() === verdict?.faults.join());
    if (verdict && !isKnown) this.violations.push({ history: historyOf(node), ...verdict });
  }
}

/** What may deviate in a step, behind what has deviated already. */
function deviationsAfter(word: string, execution: Execution): readonly string[] {
  const last = isDeviation(word) ? parseDeviation(word).index : -1;
  const effects = execution.effects.filter(({ index }) => index > last);
  return effects.flatMap((effect) => DEVIATIONS[effect.kind].map((deviation) => deviationWord(effect, deviation)));
}

function historyOf(node: Node): string[] {
  const words: string[] = [];
  for (let at: Node | undefined = node; at; at = at.before) if (at.word !== '') words.unshift(at.word);
  return words;
}
