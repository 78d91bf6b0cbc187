import type { ProviderValues, Transaction } from '../transactions/model/transaction.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';

/** Who the merchant is at the processor of its transaction, as integrators are told; undefined when none was chosen. */
export function providerIdOf(
  { directory, path }: TransactionDependencies,
  transaction: Transaction,
): ProviderValues | undefined {
  const { acquirerId, routeId, xTid, tid, mid } = transaction;
  const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
  if (path.kind !== 'direct' || !route || xTid === null || tid === null || mid === null) return undefined;
  const canTakePin = directory.terminal(acquirerId, xTid)?.canTakePin ?? false;
  return path.switches.find(acquirerId, route.processorId)?.providerId({ tid, mid, canTakePin });
}
