import type { Manner } from './calm.ts';
import type { Case } from './cases.ts';
import { choicesIn, isFault } from './choices.ts';
import { DEVIATIONS, deviationWord, isDeviation, parseDeviation } from './deviations.ts';
import type { Execution } from './execution.ts';
import { faultsInTheEnd, goOn, type History, replay } from './replay.ts';
import { stateName } from './state-text.ts';

export interface SearchOptions {
  /** Events of a history, not counting the setup of its case. */
  readonly depth: number;
  /** How many of them may be faults of processes, connections and the database; the switch may err without limit. */
  readonly mostFaults: number;
  readonly manners: readonly Manner[];
  readonly untilMs?: number;
  readonly mostViolations?: number;
  readonly onLevel?: ((depth: number, states: number) => void) | undefined;
}

export interface Violation {
  readonly history: History;
  readonly manner: Manner;
  readonly faults: readonly string[];
}

export interface SearchResult {
  /** Distinct states. */
  readonly states: number;
  readonly executions: number;
  /** Every history with this many events was explored. */
  readonly depth: number;
  readonly violations: readonly Violation[];
}

/** Executions that are kept so that their successors need not start from the beginning: each takes a few kilobytes. */
const MOST_KEPT = 300_000;

/** A history to explore: a word after another history. */
interface Node {
  readonly before: Node | undefined;
  readonly word: string;
  readonly faults: number;
  /** Its execution, if no call was in progress at its end: longer histories continue from there. */
  still?: Execution;
}

/** Explores every history of a case, shortest first. Of histories that lead to one state only the first continues. */
export async function search(explored: Case, options: SearchOptions): Promise<SearchResult> {
  // Every other step throws a refusal, and no code reads its stack.
  Error.stackTraceLimit = 0;
  const search = new Search(explored, options);
  await search.run();
  return search;
}

class Search implements SearchResult {
  readonly violations: Violation[] = [];
  executions = 0;
  depth = 0;
  readonly #case: Case;
  readonly #options: SearchOptions;
  /** For each state, the fewest faults that led there: with fewer of them left, fewer events can follow. */
  #kept = 0;
  readonly #seen = new Map<string, number>();

  constructor(explored: Case, options: SearchOptions) {
    this.#case = explored;
    this.#options = options;
  }

  get states(): number {
    return this.#seen.size;
  }

  async run(): Promise<void> {
    const { depth, onLevel } = this.#options;
    const beginning = { ...BEGINNING, still: await replay(this.#case, []) };
    let level: Node[] = [beginning];
    for (let events = 0; events <= depth; events++) {
      const next: Node[] = [];
      for (const node of level) {
        if (this.#isOver) return;
        for (const after of await this.#look(node, events < depth)) next.push(after);
      }
      this.depth = events;
      onLevel?.(events, this.states);
      level = next;
    }
  }

  get #isOver(): boolean {
    const { untilMs = Number.POSITIVE_INFINITY, mostViolations = 1 } = this.#options;
    return Date.now() > untilMs || this.violations.length >= mostViolations;
  }

  /** Runs a history, judges its result, and returns its continuations. */
  async #look(node: Node, goesOn: boolean): Promise<Node[]> {
    const execution = await this.#replay(node);
    this.executions++;
    const name = stateName(execution);
    const fewest = this.#seen.get(name);
    const isNew = fewest === undefined;
    const isKnown = fewest !== undefined && fewest <= node.faults;
    if (!isKnown) this.#seen.set(name, node.faults);
    const words = goesOn ? this.#wordsAfter(node, execution) : [];
    // A deviation in a step that led to a known state may lead to a new one.
    const going = isKnown ? words.filter(isDeviation) : words;
    if (execution.isStill && going.length > 0 && this.#kept++ < MOST_KEPT) node.still = execution.copy();
    if (isNew) await this.#judge(node, execution);
    return going.map((word) => ({ before: node, word, faults: node.faults + (isFault(word) ? 1 : 0) }));
  }

  #replay(node: Node): Promise<Execution> {
    const words: string[] = [];
    let at: Node | undefined = node;
    // A deviation belongs to the step before it.
    for (; at && (at.still === undefined || (words[0] !== undefined && isDeviation(words[0]))); at = at.before)
      if (at.word !== '') words.unshift(at.word);
    return at?.still ? goOn(at.still.copy(), this.#case, words) : replay(this.#case, words);
  }

  /** What may come next: another deviation in the last step, or another step. */
  #wordsAfter({ word, faults }: Node, execution: Execution): string[] {
    const last = isDeviation(word) ? parseDeviation(word).index : -1;
    const effects = word === '' ? [] : execution.effects.filter(({ index }) => index > last);
    const words = [
      ...effects.flatMap((effect) => DEVIATIONS[effect.kind].map((deviation) => deviationWord(effect, deviation))),
      ...choicesIn(execution, this.#case).map((choice) => choice.word),
    ];
    return faults < this.#options.mostFaults ? words : words.filter((each) => !isFault(each));
  }

  async #judge(node: Node, execution: Execution): Promise<void> {
    for (const [index, manner] of this.#options.manners.entries()) {
      const judged = index === 0 ? execution : (node.still?.copy() ?? (await this.#replay(node)));
      const faults = await faultsInTheEnd(judged, manner);
      const isKnown = this.violations.some((known) => known.faults.join() === faults.join());
      if (faults.length === 0 || isKnown) continue;
      this.violations.push({ history: historyOf(node), manner, faults });
      return;
    }
  }
}

const BEGINNING: Node = { before: undefined, word: '', faults: 0 };

function historyOf(node: Node): string[] {
  const words: string[] = [];
  for (let at: Node | undefined = node; at; at = at.before) if (at.word !== '') words.unshift(at.word);
  return words;
}
