import { type Backlog, createBacklogReader } from '../../observe/backlog.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { type Finding, fault, good, warning } from './finding.ts';

/** Workers fetch ready jobs within a second. A job that is ready for minutes has no worker. */
const LONGEST_WAIT_SECONDS = 120;

const DISABLED = 'select count(*)::int as count from webhook_endpoints where disabled_at is not null';
const GIVEN_UP = `select count(*)::int as count from webhook_events where state = 'failed' and created_at > now() - interval '1 day'`;

/** Work that waits for a person, a worker or a receiver of webhooks. */
export async function backlogFindings(database: Database): Promise<Finding[]> {
  const { rows: known } = await database.query(`select where to_regclass('pgboss.job') is not null`);
  if (known.length === 0) return [good('jobs', 'no gateway was started yet')];
  const backlog = await createBacklogReader(database)();
  return [...switchFindings(backlog), ...jobFindings(backlog), ...(await callbackFindings(database))];
}

function switchFindings({ reversalsOwed, needsReview, fewStans }: Backlog): Finding[] {
  return [
    needsReview === 0
      ? good('reversals', `${reversalsOwed} in progress, none needs review`)
      : fault(
          'reversals',
          `${needsReview} transactions need review: a reversal was not acknowledged, or the switch's responses were contradictory`,
          'GET /transactions?needsReview=true lists them; resolve each with its acquirer',
        ),
    fewStans.length === 0
      ? good('stans', 'enough are left in every scope')
      : fault(
          'stans',
          `${fewStans[0]!.left} STANs are left before the cut-over in scope ${fewStans[0]!.scope}, and few in ${fewStans.length - 1} others`,
          'ask the acquirer whether the switch cuts over; more than 999,999 messages a day need a second acquirer number at the switch',
        ),
  ];
}

function jobFindings({ queues }: Backlog): Finding[] {
  const deadLetters = queues.reduce((sum, { dead }) => sum + dead, 0);
  const oldestWaitSeconds = Math.round(Math.max(...queues.map(({ oldestReadySeconds }) => oldestReadySeconds ?? 0)));
  return [
    deadLetters === 0
      ? good('jobs', 'no dead letters')
      : warning(
          'jobs',
          `${deadLetters} dead letters`,
          'tapwire jobs dead-letters list shows why, dead-letters redrive retries them',
        ),
    oldestWaitSeconds <= LONGEST_WAIT_SECONDS
      ? good('jobs', `the oldest ready job has waited ${oldestWaitSeconds} s`)
      : fault(
          'jobs',
          `the oldest ready job has waited ${oldestWaitSeconds} s`,
          'start a process of role worker or all',
        ),
  ];
}

async function callbackFindings(database: Database): Promise<Finding[]> {
  const disabledCallbacks = await count(database, DISABLED);
  const failedEvents = await count(database, GIVEN_UP);
  return [
    disabledCallbacks === 0
      ? good('callbacks', 'none is disabled')
      : warning(
          'callbacks',
          `${disabledCallbacks} are disabled because the receiver responded with 410`,
          'ask the integrator to register the callback again',
        ),
    failedEvents === 0
      ? good('callbacks', 'every event of the last day is delivered or pending')
      : warning(
          'callbacks',
          `${failedEvents} events of the last day failed permanently`,
          'have the receiver corrected, then replay the events',
        ),
  ];
}

async function count(database: Database, sql: string): Promise<number> {
  return (await database.query<{ count: number }>(sql)).rows[0]!.count;
}
