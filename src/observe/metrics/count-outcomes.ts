import { RESPONSE_CODES } from '#schemas/response-codes';
import { Disposition, type DispositionId, dispositionName } from '../../payments/model/disposition.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { NewAttempt, TransactionStore } from '../../payments/ports/store-ports.ts';
import type { TransactionDependencies } from '../../payments/ports/transaction-dependencies.ts';
import { overrideMethods } from '../override-methods.ts';
import type { Metrics } from './metrics.ts';

/** The dependencies, extended to count every outcome that this process commits. */
export function countOutcomes(deps: TransactionDependencies, metrics: Metrics): TransactionDependencies {
  const { store, directory } = deps;
  const count: Count = (transaction, disposition, responseCode) => {
    if (disposition === null) return;
    const { acquirerId, routeId, scheme } = transaction;
    const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
    const processor = route ? `${acquirerId} ${route.processorId}` : '';
    metrics.countOutcome({ disposition: dispositionName(disposition), scheme: scheme ?? 'none', processor });
    if (disposition === Disposition.Declined && responseCode)
      metrics.countDecline({ processor, code: responseCode in RESPONSE_CODES ? responseCode : 'other' });
  };
  return { ...deps, store: counting(store, count) };
}

type Count = (transaction: Transaction, disposition: DispositionId | null, responseCode?: string | null) => void;

function counting(store: TransactionStore, count: Count): TransactionStore {
  const started = async <T>(write: Promise<T>, { transaction }: NewAttempt, isDone: (outcome: T) => boolean) => {
    const outcome = await write;
    if (isDone(outcome)) count(transaction, transaction.disposition);
    return outcome;
  };
  return overrideMethods(store, {
    insert: (attempt) => started(store.insert(attempt), attempt, (outcome) => outcome === 'inserted'),
    retry: (attempt) => started(store.retry(attempt), attempt, Boolean),
    recordDecision: async (guarded) => {
      const isCommitted = await store.recordDecision(guarded);
      const { disposition, responseCode } = guarded.decision.result;
      if (isCommitted) count(guarded.transaction, disposition, responseCode);
      return isCommitted;
    },
    expirePin: async (expiry) => {
      const isExpired = await store.expirePin(expiry);
      if (isExpired) count(expiry.transaction, expiry.disposition);
      return isExpired;
    },
    stepReversal: async (step) => {
      const isCommitted = await store.stepReversal(step);
      const isVoided =
        step.to.disposition === Disposition.Voided && step.transaction.disposition !== Disposition.Voided;
      if (isCommitted && isVoided) count(step.transaction, Disposition.Voided);
      return isCommitted;
    },
  });
}
