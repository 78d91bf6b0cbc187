import { hash } from 'node:crypto';
import { SIGN_IN_SECONDS } from '../../auth/oidc/pending-sign-in.ts';
import { actorOfIdentity, type ProviderIdentity } from '../../auth/oidc/provider-identity.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../../store/settings/admin-commit.ts';

/** Twice the time of a sign-in: clocks of processes may differ from that of the database. */
const KEPT_SECONDS = 2 * SIGN_IN_SECONDS;
/** Expired rows removed with each sign-in: more than one adds, so they never accumulate. */
const SWEPT_WITH_EACH = 10;

const FINISH = `
with swept as (
  delete from console_sign_ins where state_hash in (
    select state_hash from console_sign_ins where finished_at < clock_timestamp() - ${KEPT_SECONDS} * interval '1 second'
    order by finished_at limit ${SWEPT_WITH_EACH} for update skip locked)
)
insert into console_sign_ins (state_hash) values ($1) on conflict do nothing`;

/**
 * Records that a person has signed in with the identity provider, once for each state.
 *
 * @returns false if the sign-in of this state has succeeded before
 * @throws StoreUnavailable, NotFound if the mapping of roles names an acquirer that does not exist
 */
export type RecordSignIn = (state: string, identity: ProviderIdentity) => Promise<boolean>;

export function createSignInRecorder(database: Database): RecordSignIn {
  return (state, identity) =>
    inAdminCommit(database, identity.acquirerId, async (client) => {
      const { rowCount } = await client.query(FINISH, [hash('sha256', state, 'buffer')]);
      if (rowCount !== 1) return false;
      const { acquirerId, role, name, subject } = identity;
      const change = { acquirerId, actor: actorOfIdentity(identity) };
      const after = { did: 'signIn', role, name };
      await recordChange(client, change, { action: 'act', kind: 'session', id: subject, before: null, after });
      return true;
    });
}
