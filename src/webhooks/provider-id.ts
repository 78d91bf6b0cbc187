import type { ProviderValues, Transaction } from '../transactions/model/transaction.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';

/** The merchant's id at the processor of its transaction, for integrators; undefined if no processor was chosen. */
export function providerIdOf(
  { directory, path }: TransactionDependencies,
  transaction: Transaction,
): ProviderValues | undefined {
  const { acquirerId, routeId, xTid, tid, mid } = transaction;
  const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
  if (path.kind !== 'direct' || !route || xTid === null || tid === null || mid === null) return undefined;
  const canTakePin = directory.terminal(transaction, xTid)?.canTakePin ?? false;
  return path.switches.find(acquirerId, route.processorId)?.providerId({ tid, mid, canTakePin });
}
