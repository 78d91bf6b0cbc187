import { isStoreCondition } from '../../errors/store-conditions.ts';
import { StoreUnread } from '../../errors.ts';

/**
 * What a read gives, as long as the database is available.
 *
 * @throws StoreUnread when it is not; what the database itself says against the read, and any other error, as it is
 */
export async function mapConnectionLoss<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw isStoreCondition(cause) ? new StoreUnread({ cause }) : cause;
  }
}
