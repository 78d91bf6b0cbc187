import { honestChoices } from '../honest/honest-choices.ts';
import { responseTo } from '../switch/responses.ts';
import { mayArrive, nameOf, type SentRequest } from '../switch/sent-request.ts';
import { statementOf } from '../switch/statements.ts';
import type { Case } from './cases.ts';
import { isDeviation } from './deviations.ts';
import type { Execution } from './execution.ts';
import { cutLine } from './explored-switch.ts';
import { takeUnmatched } from './unmatched.ts';

/** An event that may happen next, in words that name it in a history. */
export interface Choice {
  readonly word: string;
  readonly happen: (execution: Execution) => Promise<void> | void;
}

/** Whether a word names a fault of a process, a connection or the database; the actions of the switch are no faults. */
export function isFault(word: string): boolean {
  return isDeviation(word) || FAULTS.some((fault) => word.endsWith(fault) || word.startsWith(fault));
}

const FAULTS = [' dies', 'the line of ', 'the key of the cards is lost'];

/** Everything that may happen in a state, in a constant order. */
export function choicesIn(execution: Execution, explored: Case): Choice[] {
  const ofSwitch = execution.honest
    ? honestChoices(execution, execution.honest)
    : execution.requests.flatMap((request) => switchChoices(execution, explored, request));
  return [
    ...clientChoices(execution, explored),
    ...ofSwitch,
    ...execution.parked.map(({ task, what }, index): Choice => {
      return { word: `${task.name}: ${what} goes on`, happen: (within) => within.parked.splice(index, 1)[0]!.go() };
    }),
    ...timeChoices(execution),
    ...faultChoices(execution),
  ];
}

function clientChoices(execution: Execution, { clients }: Case): Choice[] {
  const left = clients.filter(({ action }) => !execution.clientsDone.has(action.name) && action.isPossible(execution));
  return left.map(({ action, at }) => ({
    word: `client: ${action.name}`,
    happen: (within) => {
      within.clientsDone.add(action.name);
      action.ask(within, within.processNamed(at));
    },
  }));
}

/** The switch may process a request or not, and respond to it with anything, any number of times. */
function switchChoices(execution: Execution, { codes }: Case, request: SentRequest): Choice[] {
  const { number, kind } = request;
  const sent = (within: Execution) => within.requests[number - 1]!;
  const allowed = kind === 'reversal' ? codes.reversal : codes.request;
  const description = allowed.map((code): Choice => {
    return { word: `switch says ${code} to request ${number}`, happen: (within) => say(within, sent(within), code) };
  });
  if (!mayArrive(request, execution.requests, execution.time.nowMs)) return description;
  const verb = kind === 'reversal' ? 'reverses by' : 'books';
  return [
    { word: `switch ${verb} request ${number}, says 00`, happen: (within) => workOnAndSay(within, sent(within)) },
    { word: `switch ${verb} request ${number}`, happen: (within) => take(within, sent(within)) },
    ...description,
  ];
}

/** The switch processes a request. */
export function take(execution: Execution, request: SentRequest): void {
  request.isTaken = true;
  if (request.kind === 'reversal') execution.ledger.reverse(request.key);
  else execution.ledger.book(request.key, Number(request.message.amount));
  execution.tell(`    ${nameOf(request)}: ${request.key} is ${execution.ledger.stateOf(request.key)} now`);
}

function workOnAndSay(execution: Execution, request: SentRequest): void {
  take(execution, request);
  say(execution, request, '00');
}

/** The switch sends a response, which arrives immediately: a response that arrives later is one that is sent later. */
export function say(execution: Execution, request: SentRequest, code: string): void {
  const statement = statementOf(request, { code }, execution.ledger, execution.time.nowMs);
  const said = execution.statements.push(statement) - 1;
  execution.tell(`    ${nameOf(request)}, ${statement.stateThen}, is got ${code} (${statement.meaning})`);
  const response = responseTo(request.message, { code })!;
  const waiting = execution.waiting.get(request.number);
  const name = `${code} to request ${request.number}`;
  if (waiting) {
    // Whether a purchase received a response does not matter while its outcome is not stored: then it is reversed.
    if (request.kind === 'reversal') waiting.task.hears(said);
    waiting.end({ response });
  } else takeUnmatched(execution, execution.processNamed(request.processName), { response, said, name });
}

function timeChoices(execution: Execution): Choice[] {
  if (execution.nextMs() === undefined) return [];
  // The choice of process matters only if one of them remembers something.
  const remembers = execution.processes.some(({ originals }) => originals.all.size > 0);
  const workers = remembers ? execution.processes : execution.processes.slice(0, 1);
  return workers.map(({ name }) => {
    return { word: `time passes, ${name} works`, happen: (within) => within.pass(within.processNamed(name)) };
  });
}

function faultChoices(execution: Execution): Choice[] {
  const loseKey = (within: Execution) => {
    within.isKeyLost = true;
    within.hadFaults = true;
  };
  const isKept = execution.requests.length > 0 && !execution.isKeyLost;
  const keys: Choice[] = isKept ? [{ word: 'the key of the cards is lost', happen: loseKey }] : [];
  const others = execution.processes.flatMap((process): Choice[] => {
    const isBusy = [...execution.tasks].some((task) => task.process === process);
    const { connectionId } = process;
    const waits = execution.requests.some(
      (sent) => sent.connectionId === connectionId && execution.waiting.has(sent.number),
    );
    const remembers =
      process.originals.all.size > 0 ||
      execution.unmatchedResponses.some((unmatched) => unmatched.process === process.name);
    return [
      ...(isBusy || remembers
        ? [
            {
              word: `${process.name} dies`,
              happen: (within: Execution) => within.kill(within.processNamed(process.name)),
            },
          ]
        : []),
      ...(waits
        ? [{ word: `the line of ${process.name} is cut`, happen: (within: Execution) => cutLine(within, process.name) }]
        : []),
    ];
  });
  return [...keys, ...others];
}
