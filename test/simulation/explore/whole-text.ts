import type { Execution } from './execution.ts';

/** Everything that an execution consists of, with every identifier, time and statement: only what is equal has the same text. */
export function wholeText(execution: Execution): string {
  const { store, ledger, requests, waiting, statements, tasks, parked, reported, events, alarms } = execution;
  const parts = [
    execution.time.nowMs,
    ...[...store.rows.values()].map(({ trail: _, ...row }) => textOf(row)).sort(),
    ...[...store.jobs.values()].map(textOf),
    ...[...ledger.bookings.values()].map(textOf),
    ...requests.map((request) => `${textOf(request)} ${waiting.has(request.number)}`),
    ...statements.map(textOf),
    ...[...tasks].map((task) => `${task.name} ${task.process.generation} ${task.wholeText}`).sort(),
    ...parked.map(({ task, what, sinceMs }) => `${task.name} ${what} ${sinceMs}`),
    ...reported.map(textOf),
    ...events.map(textOf).sort(),
    ...[...alarms].sort(),
    ...[...execution.clientsDone].sort(),
    ...execution.unmatchedResponses.map(({ response: _, ...unmatched }) => textOf(unmatched)),
    ...execution.processes.map(({ name, generation, connection, originals, approvals }) =>
      textOf([name, generation, connection, [...originals.all], [...approvals]]),
    ),
    textOf([[...execution.stans], execution.hadFaults, execution.isKeyLost]),
    textOf(execution.links.all),
    execution.honest?.text ?? '',
  ];
  return parts.join('\n');
}

export function textOf(value: unknown): string {
  return JSON.stringify(value, (name, each) => (name === 'sealedCard' || name === 'chipTags' ? undefined : each)) ?? '';
}
