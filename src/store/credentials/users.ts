import type { Logins, LoginTries, TriesSoFar } from '../../auth/portal/log-in.ts';
import type { PortalUser, PortalUsers, Role } from '../../auth/portal/portal-user.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';

interface Row {
  readonly id: string;
  readonly username: string;
  readonly acquirerId: number;
  readonly integratorId: number | null;
  readonly merchantId: string | null;
  readonly role: Role;
  readonly permissions: string[];
  readonly isBlocked: boolean;
  readonly passwordChangedAtMs: number;
  readonly hasSecondFactor: boolean;
}

interface LoginRow extends Row {
  readonly passwordHash: string;
  readonly totpSecret: Uint8Array | null;
  readonly recoveryHashes: Uint8Array[] | null;
}

/** A merchant's row determines its integrator. A user is also blocked if the merchant, integrator or acquirer is. */
const USER = `select u.id, u.username, u.acquirer_id as "acquirerId", u.merchant_id as "merchantId",
  coalesce(u.integrator_id, m.integrator_id) as "integratorId", u.role, u.permissions, 
  u.is_blocked or coalesce(m.is_blocked, false) or coalesce(i.is_blocked, false) or coalesce(a.is_blocked, false) as "isBlocked",
  (extract(epoch from greatest(u.password_changed_at, f.enrolled_at)) * 1000)::float8 as "passwordChangedAtMs",
  f.secret is not null as "hasSecondFactor"`;
const FROM = `from users u left join merchants m on m.acquirer_id = u.acquirer_id and m.id = u.merchant_id
  left join integrators i on i.acquirer_id = u.acquirer_id and i.id = coalesce(u.integrator_id, m.integrator_id)
  left join acquirers a on a.id = u.acquirer_id
  left join user_totp f on f.acquirer_id = u.acquirer_id and f.user_id = u.id`;

export function postgresUsers(database: Database): PortalUsers & Logins {
  return {
    async find(acquirerId, id) {
      const text = `${USER} ${FROM} where u.acquirer_id = $1 and u.id = $2`;
      const { rows } = await mapConnectionLoss(
        database.query<Row>({ name: 'find-user', text, values: [acquirerId, id] }),
      );
      return rows[0] && userOf(rows[0]);
    },
    async findByUsername(username) {
      const login =
        'u.password_hash as "passwordHash", f.secret as "totpSecret", f.recovery_hashes as "recoveryHashes"';
      const text = `${USER}, ${login} ${FROM} where lower(u.username) = lower($1)`;
      const query = { name: 'find-login', text, values: [username] };
      const { rows } = await mapConnectionLoss(database.query<LoginRow>(query));
      if (!rows[0]) return undefined;
      const { passwordHash, totpSecret: secret, recoveryHashes } = rows[0];
      const secondFactor = secret === null ? undefined : { secret, recoveryHashes: recoveryHashes ?? [] };
      return { ...userOf(rows[0]), passwordHash, secondFactor };
    },
    async recordLogin({ id, owner: { acquirerId } }) {
      const text = 'update users set last_login_at = now() where acquirer_id = $1 and id = $2';
      await mapConnectionLoss(database.query({ name: 'record-login', text, values: [acquirerId, id] }));
    },
  };
}

function userOf(row: Row): PortalUser {
  const {
    id,
    username,
    acquirerId,
    integratorId,
    merchantId,
    role,
    permissions,
    isBlocked,
    passwordChangedAtMs,
    hasSecondFactor,
  } = row;
  const owner = {
    acquirerId,
    ...(integratorId !== null && { integratorId }),
    ...(merchantId !== null && { merchantId }),
  };
  return { id, username, owner, role, permissions, isBlocked, passwordChangedAtMs, hasSecondFactor };
}

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
