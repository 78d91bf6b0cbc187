import type { Config } from '../config.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { AttemptMessages } from '../store/transactions/attempt-messages.ts';
import type { Closers } from './closers.ts';
import type { Report } from './open-stores.ts';

/** What is kept of messages, for people: closed after the lines that feed it. */
export function openMessages(config: Config, database: Database, report: Report, closers: Closers): AttemptMessages {
  const onError = report('messages of attempts could not be kept');
  const messages = new AttemptMessages({ database, kept: config.MESSAGES_KEPT, onError });
  closers.push(() => messages.close());
  return messages;
}
