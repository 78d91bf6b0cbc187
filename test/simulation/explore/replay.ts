import { faultsOfHonestEnd } from '../honest/honest-end.ts';
import { HonestSwitch } from '../honest/honest-switch.ts';
import type { Sabotage } from '../memory-store.ts';
import type { Books } from '../rules/books.ts';
import { faultsOf } from '../rules/judge.ts';
import { comeToRest, tryRefund, type Watcher } from './calm.ts';
import type { Case } from './cases.ts';
import { type Choice, choicesIn } from './choices.ts';
import { type Deviation, isDeviation, parseDeviation } from './deviations.ts';
import { Execution, VOID } from './execution.ts';
import type { Policy } from './policies.ts';

/** A history: events, each followed by the deviations in its step. */
export type History = readonly string[];

/** Runs a history from the beginning. */
export function replay(
  explored: Case,
  history: History,
  how: { readonly isTold?: boolean; readonly isReduced?: boolean; readonly sabotage?: Sabotage | undefined } = {},
): Promise<Execution> {
  const hasVoids = explored.clients.some(({ action }) => action.name === VOID);
  const honest = explored.behaviour && new HonestSwitch(explored.behaviour);
  const execution = new Execution({ ...how, hasVoids, honest });
  explored.prepare?.(execution);
  return goOn(execution, explored, [...explored.setUp, ...history]);
}

/** Executes further events. */
export async function goOn(execution: Execution, explored: Case, words: History): Promise<Execution> {
  for (let at = 0; at < words.length; ) {
    const word = words[at++]!;
    const deviations = new Map<number, Deviation>();
    for (; at < words.length && isDeviation(words[at]!); at++) {
      const { index, deviation } = parseDeviation(words[at]!);
      deviations.set(index, deviation);
    }
    await step(execution, explored, word, deviations);
  }
  return execution;
}

async function step(
  execution: Execution,
  explored: Case,
  word: string,
  deviations: ReadonlyMap<number, Deviation>,
): Promise<void> {
  const choice = choicesIn(execution, explored).find((each) => each.word === word);
  if (!choice) throw new Error(`"${word}" cannot happen here`);
  await takeStep(execution, choice, deviations);
}

/** Lets one thing happen, and everything that follows without time. */
export async function takeStep(
  execution: Execution,
  choice: Choice,
  deviations: ReadonlyMap<number, Deviation> = new Map(),
): Promise<void> {
  execution.beginStep(deviations);
  execution.tell(choice.word);
  await choice.happen(execution);
  await execution.settle();
}

/** A history that violates a rule, in full. */
export async function storyOf(
  explored: Case,
  { history, policy }: { readonly history: History; readonly policy: Policy },
  isReduced: boolean,
): Promise<readonly string[]> {
  const execution = await replay(explored, history, { isTold: true, isReduced });
  await faultsInTheEnd(execution, policy);
  return execution.story;
}

/** Lets everything come to its end, and judges the books; then once more after a refund of the whole sale. */
export async function faultsInTheEnd(execution: Execution, policy: Policy, watcher?: Watcher): Promise<string[]> {
  if (execution.honest) return faultsOfHonestEnd(execution, watcher);
  execution.tell(`-- no more faults; the switch is ${policy}`);
  if (await comeToRest(execution, policy, watcher)) return [];
  watcher?.rests(execution);
  const faults = faultsNow(execution);
  if (faults.length > 0) return faults;
  execution.tell('-- a refund of the whole is asked for');
  await tryRefund(execution, policy, watcher);
  return faultsNow(execution);
}

function faultsNow(execution: Execution): string[] {
  return [...new Set([...execution.faults, ...faultsOf(booksOf(execution))])];
}

export function booksOf({
  store,
  ledger,
  requests,
  statements,
  reported,
  events,
  alarms,
  hadFaults,
}: Execution): Books {
  const bookings = [...ledger.bookings.values()];
  return {
    rows: store.rows,
    bookings,
    requests,
    statements,
    reported,
    events,
    alarms,
    hadFaults,
    wantsCompletion: false,
  };
}
