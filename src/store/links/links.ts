import type pg from 'pg';
import type { MandateVault } from '../../card/card-vault.ts';
import { claimedLink, type Link, type LinkKey, type LinkStateId, type NewLink } from '../../payments/model/link.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { LinkStore, Tenant } from '../../payments/ports/store-ports.ts';
import type { PushRecord } from '../../push/ports.ts';
import { GroupCommit, inTransaction } from '../postgres/group-commit.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { findTapByReference, findTransaction } from '../transactions/find-transactions.ts';
import type { JobsInCommit } from '../transactions/jobs-in-commit.ts';
import { createLinks, type Sealed } from './commit-links.ts';
import { IS_HELD, namedLink } from './link-claims.ts';

/** Creations that wait for a commit, as many as of taps: a backend that creates links in bulk is refused before it delays taps. */
const MAX_WAITING_LINKS = 4_096;

const SELECT = `
select l.acquirer_id as "acquirerId", l.id, l.integrator_id as "integratorId", l.merchant_id as "merchantId", l.kind, l.type,
  l.payment_reference as "paymentReference", l.amount_minor as "amountMinor", l.currency, l.is_consumer_app as "isConsumerApp",
  l.x_tid as "xTid", l.sealed_mandate as "sealedMandate", l.state, l.transaction_id as "transactionId",
  l.is_expired or l.expires_at <= clock_timestamp() as "isPast", ${IS_HELD} as "isHeld",
  (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs",
  (extract(epoch from l.created_at) * 1000)::float8 as "createdAtMs",
  (extract(epoch from l.updated_at) * 1000)::float8 as "updatedAtMs"
from links l`;

/** A row of `SELECT`. */
type LinkRow = Omit<Link, 'mandate'> & { readonly sealedMandate: Uint8Array | null };

const LOCK_PAST = `select from links where acquirer_id = $1 and id = $2 and expires_at <= clock_timestamp() for update`;
const EXPIRE = `update links l set is_expired = true, updated_at = clock_timestamp()
  where l.acquirer_id = $1 and l.id = $2 and not l.is_expired and not ${IS_HELD}`;

const MOVE = `update links set state = $3, updated_at = clock_timestamp() where acquirer_id = $1 and id = $2 and state < $3`;

const RECORD_PUSH = `update links set pushed_at = clock_timestamp(), push_device_id = $3, push_outcome = $4
  where acquirer_id = $1 and id = $2`;

const ONLY_MERCHANT = `select id from merchants
  where acquirer_id = $1 and ($2::integer is null or integrator_id = $2) and ($3::text is null or id = $3) limit 2`;

/** Links and intents on Postgres. Creations are group-committed like taps. */
export class PostgresLinks implements LinkStore {
  readonly #database: Database;
  readonly #vault: MandateVault;
  readonly #creations: GroupCommit<Sealed, 'created' | 'exists'>;

  constructor(database: Database, jobs: JobsInCommit, vault: MandateVault) {
    this.#database = database;
    this.#vault = vault;
    this.#creations = new GroupCommit(database, {
      keyOf: ({ link }) => `${link.acquirerId} ${link.merchantId} ${link.paymentReference}`,
      write: (client, links) => createLinks(client, links, jobs),
      maxQueued: MAX_WAITING_LINKS,
    });
  }

  create(link: NewLink): Promise<'created' | 'exists'> {
    const sealedMandate = link.mandate && this.#vault.seal(link.id, link.mandate);
    return this.#creations.submit({ link, sealedMandate });
  }

  findCreated(
    { acquirerId, merchantId, paymentReference }: NewLink,
    requestHash: Uint8Array,
  ): Promise<Link | undefined> {
    const text = `${SELECT} where l.acquirer_id = $1 and l.merchant_id = $2 and l.payment_reference = $3
      and not l.is_expired and l.request_hash = $4`;
    return this.#read('find-created-link', text, [acquirerId, merchantId, paymentReference, requestHash]);
  }

  find({ acquirerId, id }: LinkKey): Promise<Link | undefined> {
    return this.#read('find-link', `${SELECT} where l.acquirer_id = $1 and l.id = $2`, [acquirerId, id]);
  }

  async findNamed(acquirerId: number, merchantId: string, reference: string): Promise<Link | undefined> {
    const found =
      (await this.#read(
        'find-link-by-reference',
        `${SELECT} where l.acquirer_id = $1 and l.merchant_id = $2 and l.payment_reference = $3 and not l.is_expired`,
        [acquirerId, merchantId, reference],
      )) ?? (await this.#findById(acquirerId, merchantId, reference));
    if (!found?.isPast || found.isHeld) return found;
    await this.expire(found);
    return undefined;
  }

  async #findById(acquirerId: number, merchantId: string, reference: string): Promise<Link | undefined> {
    const id = namedLink(reference);
    const found = id === undefined ? undefined : await this.find({ acquirerId, id });
    return found?.merchantId === merchantId ? found : undefined;
  }

  async moveTo({ acquirerId, id }: LinkKey, state: LinkStateId): Promise<void> {
    await mapConnectionLoss(this.#database.query({ name: 'move-link', text: MOVE, values: [acquirerId, id, state] }));
  }

  /** Replaces the record of the attempt before. */
  async recordPush({ acquirerId, reference, deviceId, outcome }: PushRecord): Promise<void> {
    const values = [acquirerId, reference, deviceId, outcome];
    await mapConnectionLoss(this.#database.query({ name: 'record-push', text: RECORD_PUSH, values }));
  }

  expire({ acquirerId, id }: LinkKey): Promise<'done' | 'notYet'> {
    return inTransaction(this.#database, async (client) => {
      // First the lock: the next statement then sees the tap of the previous lock holder.
      const { rowCount } = await client.query(LOCK_PAST, [acquirerId, id]);
      if (rowCount === 1) await client.query(EXPIRE, [acquirerId, id]);
      return rowCount === 1 || (await isGone(client, acquirerId, id)) ? 'done' : 'notYet';
    });
  }

  async findOwned(tenant: Tenant, id: string): Promise<{ link: Link; tap: Transaction | undefined } | undefined> {
    const link = await this.find({ acquirerId: tenant.acquirerId, id });
    if (!link || !isWithin(tenant, link)) return undefined;
    return { link, tap: await this.findTapOf(link) };
  }

  async findTapOf({ acquirerId, id, transactionId }: Link): Promise<Transaction | undefined> {
    if (transactionId === null) return undefined;
    const tap = await mapConnectionLoss(findTransaction(this.#database, { acquirerId, id: transactionId }));
    return tap?.consumerId === id ? tap : undefined;
  }

  findTap(tenant: Tenant, merchantReference: string): Promise<Transaction | undefined> {
    return mapConnectionLoss(findTapByReference(this.#database, tenant, merchantReference));
  }

  async isUnused({ acquirerId, merchantId }: Link, merchantReference: string): Promise<boolean> {
    const text =
      'select from merchant_references where acquirer_id = $1 and merchant_id = $2 and merchant_reference = $3';
    const values = [acquirerId, merchantId, merchantReference];
    const { rowCount } = await mapConnectionLoss(this.#database.query({ name: 'is-reference-unused', text, values }));
    return rowCount === 0;
  }

  async onlyMerchant({ acquirerId, integratorId, merchantId }: Tenant): Promise<string | undefined> {
    const values = [acquirerId, integratorId, merchantId];
    const { rows } = await mapConnectionLoss(this.#database.query<{ id: string }>(ONLY_MERCHANT, values));
    return rows.length === 1 ? rows[0]!.id : undefined;
  }

  /** Resolves when all submitted writes are committed. */
  close(): Promise<void> {
    return this.#creations.idle();
  }

  async #read(name: string, text: string, values: unknown[]): Promise<Link | undefined> {
    const { rows } = await mapConnectionLoss(this.#database.query<LinkRow>({ name, text, values }));
    if (!rows[0]) return undefined;
    const { sealedMandate, ...link } = rows[0];
    return { ...link, mandate: sealedMandate && this.#vault.open(link.id, sealedMandate) };
  }
}

/** The paymentReferences of the links of these taps, by tap id. No statement runs if no tap has a link. */
export async function findPaymentReferences(
  client: Pick<pg.ClientBase, 'query'>,
  transactions: readonly Transaction[],
): Promise<ReadonlyMap<string, string>> {
  const taps = transactions.filter((transaction) => claimedLink(transaction) !== undefined);
  if (taps.length === 0) return new Map();
  const { rows } = await client.query<{ id: string; reference: string }>({
    name: 'find-payment-references',
    text: `select x.tap as id, l.payment_reference as reference
      from unnest($1::integer[], $2::uuid[], $3::uuid[]) as x(acquirer_id, link, tap)
      join links l on l.acquirer_id = x.acquirer_id and l.id = x.link`,
    values: [taps.map(({ acquirerId }) => acquirerId), taps.map(claimedLink), taps.map(({ id }) => id)],
  });
  return new Map(rows.map(({ id, reference }) => [id, reference]));
}

async function isGone(client: pg.ClientBase, acquirerId: number, id: string): Promise<boolean> {
  const { rowCount } = await client.query('select from links where acquirer_id = $1 and id = $2', [acquirerId, id]);
  return rowCount === 0;
}

/** A credential without an id of that kind may access all of them. */
function isWithin({ integratorId, merchantId }: Tenant, link: Link): boolean {
  return (
    (integratorId === undefined || integratorId === link.integratorId) &&
    (merchantId === undefined || merchantId === link.merchantId)
  );
}
