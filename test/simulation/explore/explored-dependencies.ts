import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import { simulatedDependencies } from '../simulated-dependencies.ts';
import type { Execution } from './execution.ts';
import { exploredSwitches } from './explored-switch.ts';
import type { Task } from './task.ts';

/** How long a phone may take for a PIN. */
const PIN_SECONDS = 30;

/** Everything outside of a use case, as one task reaches it: each contact is an entry of its journal. */
export function exploredDependencies(execution: Execution, task: Task): TransactionDependencies {
  const { process } = task;
  const { store, links, completions, time, alarms } = execution;
  return simulatedDependencies({
    effects: task,
    ...{ store, links, completions },
    clock: {
      nowMs: () => task.recall('clock', () => time.nowMs + process.wallOffsetMs),
      monotonicMs: () => task.recall('clock', () => time.nowMs),
    },
    newId: () => task.recall('id', () => execution.newId(task.name)),
    pinSeconds: PIN_SECONDS,
    moved: (_key, timeoutMs) =>
      task.later('moved', (go) => execution.moved.push({ task, untilMs: time.nowMs + timeoutMs, go })),
    originals: process.originals.of(task),
    alarms: { needsReview: ({ id }) => void task.recall('alarm', () => alarms.add(id)) },
    reverseAhead: (asked, jobId) =>
      task.recall('reverse ahead', () =>
        execution.begin(`${task.name} reverses ahead`, process, async (deps) => {
          await createUseCases(deps).reversals.send(asked, jobId);
        }),
      ),
    switches: exploredSwitches(execution, task),
    isKeyLost: () => task.recall('key', () => execution.isKeyLost),
  });
}
