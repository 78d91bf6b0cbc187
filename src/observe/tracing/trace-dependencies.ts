import { SpanKind } from '@opentelemetry/api';
import type { TransactionKey } from '../../payments/model/transaction.ts';
import type { TransactionStore } from '../../payments/ports/store-ports.ts';
import type { Switch, Switches, SwitchSlot } from '../../payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../payments/ports/transaction-dependencies.ts';
import { overrideMethods } from '../override-methods.ts';
import type { Tracing } from './tracing.ts';

/**
 * The dependencies with a span around every commit and every round trip to a switch, as a child of the calling
 * work.
 */
export function traceDependencies(
  deps: TransactionDependencies,
  tracing: Tracing | undefined,
): TransactionDependencies {
  if (!tracing) return deps;
  const { path } = deps;
  return {
    ...deps,
    store: traceStore(deps.store, tracing),
    path: path.kind === 'direct' ? { ...path, switches: traceSwitches(path.switches, tracing) } : path,
  };
}

/** From the caller's point of view: from the call to the end of the group commit that contains the write. */
function traceStore(store: TransactionStore, tracing: Tracing): TransactionStore {
  const commit = <Result>(operation: string, { id }: TransactionKey, write: () => Promise<Result>) =>
    tracing.within(
      {
        name: `commit ${operation}`,
        kind: SpanKind.CLIENT,
        attributes: {
          'db.system.name': 'postgresql',
          'db.operation.name': operation,
          'tapwire.transaction.id': id,
        },
      },
      write,
      (outcome) => ({ 'tapwire.commit.outcome': String(outcome) }),
    );
  return overrideMethods(store, {
    insert: (attempt) => commit('insert', attempt.transaction, () => store.insert(attempt)),
    retry: (attempt) => commit('retry', attempt.transaction, () => store.retry(attempt)),
    submitPin: (attempt) => commit('submitPin', attempt.transaction, () => store.submitPin(attempt)),
    submit: (submission) => commit('submit', submission.transaction, () => store.submit(submission)),
    recordDecision: (guarded) => commit('decision', guarded.transaction, () => store.recordDecision(guarded)),
    stepReversal: (step) => commit('stepReversal', step.transaction, () => store.stepReversal(step)),
  });
}

function traceSwitches(switches: Switches, tracing: Tracing): Switches {
  return overrideMethods(switches, {
    find: (acquirerId, processorId) => {
      const found = switches.find(acquirerId, processorId);
      return found && traceSwitch(found, tracing);
    },
  });
}

function traceSwitch(target: Switch, tracing: Tracing): Switch {
  return overrideMethods(target, {
    takeSlot: async (connectionId) => {
      const slot = await target.takeSlot(connectionId);
      return slot && traceSlot(slot, target.type, tracing);
    },
  });
}

function traceSlot(slot: SwitchSlot, type: string, tracing: Tracing): SwitchSlot {
  const roundTrip = <Answer extends { readonly kind: string; readonly connectionId: string }>(
    message: string,
    { id, attempt }: { readonly id: string; readonly attempt: number },
    send: () => Promise<Answer>,
  ) =>
    tracing.within(
      {
        name: `switch ${message}`,
        kind: SpanKind.CLIENT,
        attributes: {
          'tapwire.processor.type': type,
          'tapwire.transaction.id': id,
          'tapwire.transaction.attempt': attempt,
        },
      },
      send,
      ({ kind, connectionId }) => ({ 'tapwire.switch.answer': kind, 'tapwire.switch.connection': connectionId }),
    );
  return overrideMethods(slot, {
    authorize: (request, timing, about) =>
      roundTrip('authorization', about, () => slot.authorize(request, timing, about)),
    reverse: (reversal, timing, about) => roundTrip('reversal', about, () => slot.reverse(reversal, timing, about)),
    complete: (advice, timing, about) => roundTrip('completion', about, () => slot.complete(advice, timing, about)),
  });
}
