import { hash } from 'node:crypto';
import type { Row } from '../memory-rows.ts';
import type { Statement } from '../switch/statements.ts';
import type { Execution } from './execution.ts';
import { transactionText } from './transaction-text.ts';

/**
 * Names a state: two states with the same name continue identically under the same events, and are judged identically.
 */
export function stateName(execution: Execution): string {
  return hash('md5', stateText(execution), 'base64');
}

function stateText(execution: Execution): string {
  const { store, ledger, requests, waiting, statements, tasks, parked, told, events, alarms } = execution;
  const rows = [...store.rows.values()].map(rowText);
  const jobs = [...store.jobs.values()].map(({ request: { queue, data }, startAtMs, heldUntilMs }) =>
    [queue, JSON.stringify(data), startAtMs, heldUntilMs].join(' '),
  );
  const sent = requests.map(({ number, kind, key, reversalAttempt, isTaken, connectionId, writtenAtMs }) =>
    [number, kind, key, reversalAttempt, isTaken, connectionId, writtenAtMs, waiting.has(number)].join(' '),
  );
  const parts = [
    String(execution.time.nowMs),
    ...rows.sort(),
    ...jobs.sort(),
    ...[...ledger.bookings.values()].map(({ key, state, bookedMinor }) => `${key} ${state} ${bookedMinor}`),
    ...sent,
    ...new Set(statements.map(statementText).sort()),
    ...[...tasks].map(({ name, process, log }) => `${name} ${process.generation} ${log}`).sort(),
    ...parked.map(({ task, what }) => `${task.name} ${what}`),
    ...told.map(({ transactionId, attempt, disposition }) => `${transactionId} ${attempt} ${disposition}`),
    ...events.map((event) => `${event.transactionId} ${event.type} ${event.disposition} ${event.sequence}`).sort(),
    ...[...alarms].sort(),
    ...[...execution.clientsDone].sort(),
    ...execution.unmatchedResponses.map(({ atMs, name }) => `${atMs} ${name}`).sort(),
    ...execution.processes.map(({ name, generation, connection, originals }) =>
      [name, generation, connection, ...[...originals.all].flat()].join(' '),
    ),
    `${execution.stans} ${execution.hadFaults} ${execution.isKeyLost}`,
  ];
  return parts.join('\n');
}

function rowText({
  transaction,
  superseded,
  answerByMs,
  deadlineAtMs,
  completingUntilMs,
  late,
  reversals,
}: Row): string {
  const attempts = reversals.map(({ nextJob: _, ...attempt }) => attempt); // ids decide nothing
  return [
    transactionText(transaction),
    ...superseded.map(transactionText),
    answerByMs,
    deadlineAtMs,
    completingUntilMs,
    JSON.stringify(late),
    JSON.stringify(attempts),
  ].join(' ');
}

/** The parts that the rules read. */
function statementText({ atMs, key, number, about, meaning, amountMinor, stateThen, isUnheard }: Statement): string {
  return about === 'request'
    ? [key, meaning, amountMinor, stateThen === 'unknown', isUnheard].join(' ')
    : [atMs, number, meaning, stateThen, isUnheard].join(' ');
}
