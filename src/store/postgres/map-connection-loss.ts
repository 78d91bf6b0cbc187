import { isStoreCondition } from '../../basics/errors/store-conditions.ts';
import { StoreUnread } from '../../basics/errors.ts';

/**
 * Returns the result of a read while the database is available.
 *
 * @throws StoreUnread if it is unavailable; an error of the database about the read, and any other error, unchanged
 */
export async function mapConnectionLoss<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw isStoreCondition(cause) ? new StoreUnread({ cause }) : cause;
  }
}
