import type { Watcher } from '../explore/calm.ts';
import type { Execution } from '../explore/execution.ts';
import { faultsOfHonestBooks } from '../rules/rules-of-books.ts';
import { mayArrive } from '../switch/sent-request.ts';
import { closingsOf } from './honest-cases.ts';
import { arrive, respond } from './honest-choices.ts';

/** More steps than the longest reversal has repeats: an execution that takes more never ends. */
const MAX_STEPS = 300;

/**
 * No further faults: every request arrives once, and so does its response. Then the books are compared, and compared again
 * after each request with which a client could use what the gateway has shown.
 */
export async function faultsOfHonestEnd(execution: Execution, watcher?: Watcher): Promise<string[]> {
  execution.tell('-- no more faults');
  if (await comeToRest(execution, watcher)) return [];
  watcher?.rests(execution);
  const faults = faultsNow(execution);
  if (faults.length > 0) return faults;
  for (const closing of closingsOf(execution)) {
    const fork = await execution.fork();
    fork.tell(`-- ${closing.name}`);
    closing.ask(fork, fork.processNamed('B'));
    await fork.settle();
    await comeToRest(fork);
    const after = [...faultsNow(fork), ...closing.faults(execution, fork)];
    if (execution.isTold) execution.story.push(...fork.story);
    if (after.length > 0) return after.map((fault) => `${fault} (after: ${closing.name})`);
  }
  return [];
}

function faultsNow(execution: Execution): string[] {
  return [...new Set([...execution.faults, ...faultsOfHonestBooks(execution)])];
}

/** @returns whether it came to a state from which the end is known to be clean */
async function comeToRest(execution: Execution, watcher?: Watcher): Promise<boolean> {
  if (watcher?.isClean(execution)) return true;
  execution.beginStep(new Map());
  execution.isKeyLost = false;
  const parked = execution.parked.splice(0);
  for (const { go } of parked) go();
  if (parked.length > 0) await execution.settle();
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    if (respondToNext(execution)) await execution.settle();
    else if (execution.nextMs() === undefined) return false;
    else await execution.pass(execution.processNamed('A'));
    if (watcher?.isClean(execution)) return true;
  }
  execution.faults.push('it does not come to rest');
  return false;
}

function respondToNext(execution: Execution): boolean {
  const { requests, time } = execution;
  const next = requests.find((each) => execution.waiting.has(each.number) && mayArrive(each, requests, time.nowMs));
  if (!next) return false;
  respond(execution, arrive(execution, next.number));
  return true;
}
