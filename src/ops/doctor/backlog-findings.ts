import type { Database } from '../../store/postgres/open-database.ts';
import { createBacklogReader } from '../backlog.ts';
import { type Finding, fault, good, warning } from './finding.ts';

/** Ready jobs are taken within a second: one that lies for minutes has nobody to take it. */
const LONGEST_WAIT_S = 120;

const DISABLED = 'select count(*)::int as count from webhook_endpoints where disabled_at is not null';
const GIVEN_UP = `select count(*)::int as count from webhook_events where state = 'failed' and created_at > now() - interval '1 day'`;

/** What waits for somebody: a person, a worker or a receiver of webhooks. */
export async function backlogFindings(database: Database): Promise<Finding[]> {
  const { rows: known } = await database.query(`select where to_regclass('pgboss.job') is not null`);
  if (known.length === 0) return [good('jobs', 'no gateway has been started yet')];
  const { queues, reversalsOwed, needsReview, fewStans } = await createBacklogReader(database)();
  const deadLetters = queues.reduce((sum, { dead }) => sum + dead, 0);
  const oldestWaitSeconds = Math.round(Math.max(...queues.map(({ oldestReadySeconds }) => oldestReadySeconds ?? 0)));
  const disabledCallbacks = await count(database, DISABLED);
  const failedEvents = await count(database, GIVEN_UP);
  return [
    needsReview === 0
      ? good('reversals', `${reversalsOwed} under way, none needs a person`)
      : fault(
          'reversals',
          `${needsReview} transactions need a person: no switch acknowledged their reversal, or one answered in doubt`,
          'GET /transactions?needsReview=true lists them; settle each with its acquirer',
        ),
    fewStans.length === 0
      ? good('stans', 'enough are left everywhere')
      : fault(
          'stans',
          `${fewStans[0]!.left} STANs are left before the cut-over in scope ${fewStans[0]!.scope}, and few in ${fewStans.length - 1} others`,
          'ask the acquirer whether the switch cuts over; stanScope terminal gives each terminal numbers of its own',
        ),
    deadLetters === 0
      ? good('jobs', 'no dead letters')
      : warning('jobs', `${deadLetters} dead letters`, 'tapwire jobs dead-letters list shows why; redrive them there'),
    oldestWaitSeconds <= LONGEST_WAIT_S
      ? good('jobs', `the oldest ready one waits for ${oldestWaitSeconds} s`)
      : fault('jobs', `the oldest ready one waits for ${oldestWaitSeconds} s`, 'start a process of role worker or all'),
    disabledCallbacks === 0
      ? good('callbacks', 'none is disabled')
      : warning(
          'callbacks',
          `${disabledCallbacks} are disabled: the receiver said 410`,
          'ask its integrator to register it anew',
        ),
    failedEvents === 0
      ? good('callbacks', 'every event of the last day was delivered or is on its way')
      : warning(
          'callbacks',
          `${failedEvents} events of the last day were given up`,
          'have the receiver mended, then replay them',
        ),
  ];
}

async function count(database: Database, sql: string): Promise<number> {
  return (await database.query<{ count: number }>(sql)).rows[0]!.count;
}
