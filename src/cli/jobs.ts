import type { QueueName } from '#schemas/jobs';
import { StartError } from '../basics/errors.ts';
import { isUuid } from '../basics/uuid.ts';
import { JobTable } from '../jobs/job-table.ts';
import { listDeadLetters, MAX_LISTED, QUEUE_NAMES, queueFigures } from '../jobs/queues.ts';
import { type Database, openDatabase } from '../store/postgres/open-database.ts';
import { findDatabase } from './administration.ts';
import { flag, readWords, text } from './arguments.ts';
import { tableOf } from './output.ts';

export const USAGE = `usage: tapwire jobs [--json]                                show the number of jobs in each queue
       tapwire jobs dead-letters [list] [--queue NAME] [--json]   show the jobs that failed permanently, and why
       tapwire jobs dead-letters redrive ID... | --queue NAME     return them to their queue

  --database  the gateway's database (DATABASE_URL, or the embedded one)`;

/**
 * `tapwire jobs`: the job queues and the jobs that failed permanently. Shows ids of rows, never the content of a
 * job.
 */
export async function run(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { database: text, queue: text, json: flag });
  const [subject, verb = 'list', ...ids] = words;
  const isKnown = subject === undefined || (subject === 'dead-letters' && ['list', 'redrive'].includes(verb));
  if (!isKnown || (verb === 'list' && ids.length > 0)) throw new StartError('BAD_USAGE', USAGE);
  const queue = queueOf(values.queue);
  const found = await findDatabase(values.database);
  try {
    return await onDatabase(found.url, async (database) => {
      if (subject === undefined) await showQueues(database, values.json);
      else if (verb === 'list') await showDeadLetters(database, queue, values.json);
      else return redrive(database, ids, queue);
      return 0;
    });
  } finally {
    await found.stop();
  }
}

async function onDatabase(url: string, act: (database: Database) => Promise<number>): Promise<number> {
  const database = await openDatabase(url, { maxConnections: 2, mustExist: true });
  try {
    return await act(database);
  } finally {
    await database.end();
  }
}

function queueOf(name: string | undefined): QueueName | undefined {
  if (name === undefined || QUEUE_NAMES.includes(name as QueueName)) return name as QueueName | undefined;
  throw new StartError('BAD_CONFIG', `--queue: one of ${QUEUE_NAMES.join(', ')}`);
}

async function showQueues(database: Database, isJson: boolean): Promise<void> {
  const queues = await queueFigures(database);
  if (isJson) return console.log(JSON.stringify(queues, null, 2));
  const rows = queues.map(({ queue, ready, active, waiting, retry, dead, oldestReadySeconds }) => [
    queue,
    ...[ready, active, waiting, retry, dead].map(String),
    oldestReadySeconds === null ? '-' : `${Math.round(oldestReadySeconds)} s`,
  ]);
  console.log(tableOf([['QUEUE', 'READY', 'ACTIVE', 'LATER', 'RETRY', 'DEAD', 'OLDEST READY'], ...rows]));
}

async function showDeadLetters(database: Database, queue: QueueName | undefined, isJson: boolean): Promise<void> {
  const letters = await listDeadLetters(database, queue);
  if (isJson) return console.log(JSON.stringify(letters, null, 2));
  if (letters.length === 0) return console.log('No dead letters.');
  const rows = letters.map(({ id, queue: from, diedAt, retries, reason, names }) => [
    id,
    from,
    diedAt.toISOString(),
    String(retries),
    reason,
    Object.entries(names)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  ]);
  console.log(tableOf([['ID', 'QUEUE', 'GIVEN UP', 'RETRIES', 'REASON', 'NAMES'], ...rows]));
  if (letters.length === MAX_LISTED) console.log(`The newest ${MAX_LISTED}; there may be more.`);
}

/** The exit code is 1 when no job was moved. */
async function redrive(database: Database, ids: string[], queue: QueueName | undefined): Promise<number> {
  if ((ids.length === 0) === (queue === undefined) || !ids.every(isUuid)) throw new StartError('BAD_USAGE', USAGE);
  const report = (error: unknown) => console.error(`tapwire: ${error}`);
  const jobs = await JobTable.open(database, report);
  try {
    const moved = await jobs.redrive(queue === undefined ? { ids } : { queue });
    console.log(`${moved} returned to the queue`);
    return moved > 0 ? 0 : 1;
  } finally {
    await jobs.close();
  }
}
