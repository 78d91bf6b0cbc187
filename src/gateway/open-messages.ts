import { rationByLoad } from '../jobs/ration-by-load.ts';
import { AttemptMessages } from '../store/attempt-messages.ts';
import type { Database } from '../store/open-database.ts';
import type { Closers } from './closers.ts';
import type { Report } from './open-stores.ts';

/** Per look, ten a second: 300 exchanges a second for a process that has the time, 10 beside taps at full load. */
const RATION = { idle: 30, busy: 1 };

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
