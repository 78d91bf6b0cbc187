import type { LoginTries, TriesSoFar } from '../../auth/portal/login-tries.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';

/** Expired rows removed with each counted attempt: more than one attempt adds, so they never accumulate. */
const SWEPT_WITH_EACH = 10;

const COUNT = `
with swept as (
  delete from login_tries where subject in (
    select subject from login_tries where window_ends_at <= clock_timestamp() and subject <> $1
    order by window_ends_at limit ${SWEPT_WITH_EACH} for update skip locked)
)
insert into login_tries as so_far (subject, tries, window_ends_at)
values ($1, 1, clock_timestamp() + $2 * interval '1 second')
on conflict (subject) do update set
  tries = case when so_far.window_ends_at <= clock_timestamp() then 1 else least(so_far.tries, 2147483646) + 1 end,
  window_ends_at = case when so_far.window_ends_at <= clock_timestamp() then excluded.window_ends_at
    else so_far.window_ends_at end
returning tries, greatest(1, ceil(extract(epoch from window_ends_at - clock_timestamp())))::integer as "secondsLeft"`;

const FORGIVE = `
with begun_anew as (delete from login_tries where subject = $1)
update login_tries set tries = tries - 1 where subject = $2 and tries > 0`;

export function postgresLoginTries(database: Database): LoginTries {
  return {
    async count(subject, windowSeconds) {
      const query = { name: 'count-login', text: COUNT, values: [subject, windowSeconds] };
      const { rows } = await mapConnectionLoss(database.query<TriesSoFar>(query));
      return rows[0]!;
    },
    async forgive(user, address) {
      await mapConnectionLoss(database.query({ name: 'forgive-login', text: FORGIVE, values: [user, address] }));
    },
  };
}
