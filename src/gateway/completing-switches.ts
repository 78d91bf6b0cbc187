import type { Processor } from '../processor-kit/processor.ts';
import type { PostgresDirectory } from '../store/directory/directory.ts';
import type { Transaction } from '../transactions/model/transaction.ts';

/**
 * Whether the switch of a transaction posts approvals only after their completions, according to its type. False if the
 * processor was removed, or its configuration is invalid.
 */
export function createCompletionCheck(
  types: ReadonlyMap<string, Pick<Processor, 'configSchema' | 'completion'>>,
  directory: Pick<PostgresDirectory, 'processors' | 'routes'>,
): (transaction: Pick<Transaction, 'acquirerId' | 'routeId'>) => boolean {
  return ({ acquirerId, routeId }) => {
    const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
    const stored = directory.processors().find((row) => row.acquirerId === acquirerId && row.id === route?.processorId);
    const type = stored && types.get(stored.type);
    const checked = type?.configSchema.safeParse(stored!.config);
    return checked?.success === true && (type!.completion?.isWanted(checked.data) ?? false);
  };
}
