import { type Repetition, repeatEvery } from '../basics/limits/waits.ts';
import { namedStatement } from '../store/postgres/followed-table.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { SwitchStats } from '../switching/switches/acquirer-switch.ts';

/**
 * Brings forward what waits for a switch that responds again after a silence: repeats of reversals and voids, and
 * completions. Their schedules become slow, up to hourly, because they cannot know when a switch returns.
 *
 * A silence is a request without a response in time, or no signed-on connection. It ends with the next response to any
 * request of this process, a sign-on or an echo as well. Each process looks at its own connections once a second, so that a
 * tap costs nothing. The first response after a start counts too, because another process may have seen the silence.
 *
 * The rate is limited, so that ten thousand reversals do not crowd out taps. A message to which the switch never
 * responds, although it responds to others, must not be repeated at each silence. So an attempt is brought forward at
 * most to a tenth of the transaction's age after the deadline of the attempt before. This allows about a hundred
 * attempts in 72 hours.
 */

const LOOK_EVERY_MS = 1_000;
/** For one switch. The next run also waits nine times as long as the last one took. */
const REST_MS = 5_000;
const REST_FACTOR = 9;
/** A tenth of what taps may take of one connection. */
const PER_SECOND = 16;
/** Part of a transaction's age that passes between two attempts. */
const PART_OF_AGE = 0.1;

type ObservedStats = Pick<SwitchStats, 'responded' | 'timedOut' | 'ready' | 'full'>;

/** The open switches by name, `<acquirer> <processor>`. */
export type ObservedSwitches = Iterable<readonly [string, { readonly stats: ObservedStats }]>;

interface Observed {
  /** Something may wait after a silence, and the switch has not responded (`silent`) or has (`back`). */
  state: 'usual' | 'silent' | 'back';
  readonly responded: number;
  readonly timedOut: number;
  restEndsAtMs: number;
}

export interface SwitchRecoveriesOptions {
  readonly switches: ObservedSwitches;
  /** @returns how many were brought forward */
  readonly bringForward: (acquirerId: number, processorId: number) => Promise<number>;
  /** A clock that never goes backwards. */
  readonly nowMs: () => number;
  readonly onError: (error: unknown) => void;
}

export class SwitchRecoveries {
  readonly #options: SwitchRecoveriesOptions;
  #observed = new Map<string, Observed>();
  readonly #looking: Repetition;

  constructor(options: SwitchRecoveriesOptions, everyMs = LOOK_EVERY_MS) {
    this.#options = options;
    this.#looking = repeatEvery(everyMs, () => this.look(), options.onError);
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  async look(): Promise<void> {
    const before = this.#observed;
    this.#observed = new Map();
    const recovered: string[] = [];
    for (const [name, { stats }] of this.#options.switches) {
      const observed = observe(before.get(name), stats);
      this.#observed.set(name, observed);
      if (observed.state === 'back' && observed.restEndsAtMs <= this.#options.nowMs()) recovered.push(name);
    }
    for (const name of recovered) await this.#recover(name);
  }

  async #recover(name: string): Promise<void> {
    const { bringForward, nowMs } = this.#options;
    const startedAtMs = nowMs();
    const [acquirerId = 0, processorId = 0] = name.split(' ').map(Number);
    const observed = this.#observed.get(name)!;
    try {
      await bringForward(acquirerId, processorId);
      observed.state = 'usual';
    } finally {
      observed.restEndsAtMs = nowMs() + Math.max(REST_MS, (nowMs() - startedAtMs) * REST_FACTOR);
    }
  }
}

/** A switch that was opened again counts from 0. */
function observe(before: Observed | undefined, { responded, timedOut, ready, full }: ObservedStats): Observed {
  const known = before && responded >= before.responded ? before : undefined;
  const isSignedOn = ready + full > 0;
  const hasResponded = isSignedOn && responded > (known?.responded ?? 0);
  const isSilent = !known || !isSignedOn || timedOut > known.timedOut;
  let state = isSilent ? 'silent' : known.state;
  if (state === 'silent' && hasResponded) state = 'back';
  return { state, responded, timedOut, restEndsAtMs: before?.restEndsAtMs ?? 0 };
}

// The job that repeats an attempt is committed with it. A completion's job begins when its last attempt has ended. Waits
// that the message itself needs (its original, a completion, a confirmation) are left to its use case.
const BRING_FORWARD = `
with waiting as (
  select job.name, job.id, row_number() over (order by t.created_at, t.id) as place,
    case
      when job.name = 'reverse' then last.deadline_at
      when (job.data ->> 'completionAttempt')::integer > 1 then job.created_on
    end + ${PART_OF_AGE} * (now() - coalesce(t.reversal_armed_at, t.sent_at)) as not_before
  from pgboss.job
  join transactions t on t.acquirer_id = $1 and t.id = (job.data ->> 'id')::uuid
  join routes way on way.acquirer_id = t.acquirer_id and way.id = t.route_id and way.processor_id = $2
  left join lateral (
    select max(a.deadline_at) as deadline_at from reversal_attempts a
    where a.acquirer_id = t.acquirer_id and a.transaction_id = t.id and a.attempt = (job.data ->> 'attempt')::integer
  ) last on job.name = 'reverse'
  where job.name in ('reverse', 'complete') and job.state = 'created' and job.start_after > now() + interval '1 s'
    and (job.data ->> 'acquirerId')::integer = $1
),
early as (
  select *, greatest(now() + place / ${PER_SECOND}.0 * interval '1 s', not_before) as start_at from waiting
)
update pgboss.job set start_after = start_at from early
where job.name = early.name and job.id = early.id and job.state = 'created' and job.start_after > start_at`;

/** What waits for a switch, in the job table. */
export function bringForwardIn(database: Database): SwitchRecoveriesOptions['bringForward'] {
  return async (acquirerId, processorId) => {
    const { rowCount } = await database.query({ ...namedStatement(BRING_FORWARD), values: [acquirerId, processorId] });
    return rowCount ?? 0;
  };
}
