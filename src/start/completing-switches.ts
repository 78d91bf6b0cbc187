import type { Processor } from '../kits/processor-kit/processor.ts';
import type { Transaction } from '../payments/model/transaction.ts';
import type { PostgresDirectory } from '../store/directory/directory.ts';

/**
 * Whether the switch of a transaction posts approvals only after their completions, according to its type. True if that is
 * unknown (the processor was removed or is being moved, its type is not installed, or its configuration is invalid): an
 * approval that no switch posts must not be reported to the merchant.
 */
export function createCompletionCheck(
  types: ReadonlyMap<string, Pick<Processor, 'configSchema' | 'completion'>>,
  directory: Pick<PostgresDirectory, 'processors' | 'routes'>,
): (transaction: Pick<Transaction, 'acquirerId' | 'routeId'>) => boolean {
  return ({ acquirerId, routeId }) => {
    const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
    const stored = directory.processors().find((row) => row.acquirerId === acquirerId && row.id === route?.processorId);
    const type = stored && types.get(stored.type);
    if (!type) return true;
    const { completion, configSchema } = type;
    if (!completion) return false;
    const { data } = configSchema.safeParse(stored!.config);
    return data === undefined || completion.isWanted(data);
  };
}
