import type { Config } from '../config.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { AttemptMessages } from '../store/transactions/attempt-messages.ts';
import type { Closers } from './closers.ts';
import type { Report } from './open-stores.ts';

/** Keeps masked messages for people. It is closed after the connections that feed it. */
export function openMessages(config: Config, database: Database, report: Report, closers: Closers): AttemptMessages {
  const onError = report('masked messages of attempts could not be stored');
  const messages = new AttemptMessages({ database, kept: config.MESSAGES_KEPT, onError });
  closers.push(() => messages.close());
  return messages;
}
