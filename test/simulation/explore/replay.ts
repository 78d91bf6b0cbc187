import type { Books } from '../rules/books.ts';
import { faultsOf } from '../rules/judge.ts';
import { comeToRest, type Manner, tryRefund } from './calm.ts';
import type { Case } from './cases.ts';
import { choicesIn } from './choices.ts';
import { type Deviation, isDeviation, parseDeviation } from './deviations.ts';
import { Execution } from './execution.ts';

/** A history: events, each followed by the deviations in its step. */
export type History = readonly string[];

/** Runs a history from the beginning. */
export function replay(explored: Case, history: History, isTold = false): Promise<Execution> {
  return goOn(new Execution({ isTold }), explored, [...explored.setUp, ...history]);
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
  execution.beginStep(deviations);
  execution.tell(word);
  await choice.happen(execution);
  await execution.settle();
}

/** A history that violates a rule, in full. */
export async function storyOf(explored: Case, history: History, manner: Manner): Promise<readonly string[]> {
  const execution = await replay(explored, history, true);
  await faultsInTheEnd(execution, manner);
  return execution.story;
}

/** Lets everything end, and judges the books; then again after a refund of everything that can be refunded. */
export async function faultsInTheEnd(execution: Execution, manner: Manner): Promise<string[]> {
  execution.tell(`-- no more faults; the switch is ${manner}`);
  await comeToRest(execution, manner);
  const faults = [...new Set([...execution.faults, ...faultsOf(booksOf(execution))])];
  if (faults.length > 0) return faults;
  execution.tell('-- a refund of the whole is asked for');
  await tryRefund(execution, manner);
  return [...new Set([...execution.faults, ...faultsOf(booksOf(execution))])];
}

function booksOf({ store, ledger, requests, statements, told, events, alarms, hadFaults }: Execution): Books {
  const bookings = [...ledger.bookings.values()];
  return { rows: store.rows, bookings, requests, statements, told, events, alarms, hadFaults, wantsCompletion: false };
}
