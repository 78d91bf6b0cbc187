import { rationByLoad } from '../jobs/ration-by-load.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { AttemptMessages } from '../store/transactions/attempt-messages.ts';
import type { Closers } from './closers.ts';
import type { Report } from './open-stores.ts';

/**
 * Per look, ten a second: a thousand exchanges a second for a process that has the time; beside taps at full load 150, which at
 * a tenth of a millisecond each take two hundredths of a core.
 */
const RATION = { idle: 100, busy: 15 };

/** What is kept of messages, for people: closed after the lines that feed it. */
export function openMessages(database: Database, report: Report, closers: Closers): AttemptMessages {
  const messages = new AttemptMessages({
    database,
    ration: rationByLoad(RATION),
    onError: report('messages of attempts could not be kept'),
  });
  closers.push(() => messages.close());
  return messages;
}
