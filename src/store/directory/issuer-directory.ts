import type { SigningAlgorithm } from '#schemas/tokens';
import { type IssuerKey, type KeySetRegistration, readIssuerPem } from '../../auth/issuers/issuer-keys.ts';
import type { Tenant } from '../../transactions/ports.ts';
import { FollowedTable, type RowChanges } from '../postgres/followed-table.ts';
import type { Database } from '../postgres/open-database.ts';

interface Row {
  readonly issuer: string;
  readonly kid: string | null;
  readonly acquirerId: number;
  readonly integratorId: number | null;
  readonly merchantId: string | null;
  readonly algorithms: readonly SigningAlgorithm[];
  /** PEM; null where there is a URL. */
  readonly publicKey: string | null;
  readonly jwksUrl: string | null;
  readonly createdAtMs: number;
}

interface Registration {
  /** None when the stored key cannot be read: it then verifies nothing. */
  readonly key?: IssuerKey | undefined;
  readonly keySet?: KeySetRegistration | undefined;
}

const REGISTERED = `select issuer, kid, acquirer_id as "acquirerId", integrator_id as "integratorId",
  merchant_id as "merchantId", algorithms, public_key as "publicKey", jwks_url as "jwksUrl",
  (extract(epoch from created_at) * 1000)::float8 as "createdAtMs" from issuer_keys where revoked_at is null`;

/** Every issuer's keys and the URLs of its key sets, those that came last first. Reading a PEM is dear: only new ones are read. */
export class IssuerDirectory {
  readonly #table: FollowedTable<Row>;
  /** By issuer, each by all that is registered of it. */
  readonly #issuers = new Map<string, ReadonlyMap<string, Registration>>();
  #changes = 0;

  constructor(database: Database) {
    this.#table = new FollowedTable<Row>(database, REGISTERED, 'x.issuer', (changes) => this.#take(changes));
  }

  /** Grows with every change of what is registered. */
  get changes(): number {
    return this.#changes;
  }

  keys(issuer: string): readonly IssuerKey[] {
    return this.#registrations(issuer).flatMap(({ key }) => key ?? []);
  }

  keySets(issuer: string): readonly KeySetRegistration[] {
    return this.#registrations(issuer).flatMap(({ keySet }) => keySet ?? []);
  }

  refresh(): Promise<void> {
    return this.#table.look();
  }

  #registrations(issuer: string): readonly Registration[] {
    return [...(this.#issuers.get(issuer)?.values() ?? [])];
  }

  /** An issuer is in one part of the table: all of its rows come together. */
  #take({ gone, present }: RowChanges<Row>): void {
    const rows = Map.groupBy(present, ({ issuer }) => issuer);
    for (const { issuer } of gone) if (!rows.has(issuer)) this.#issuers.delete(issuer);
    for (const [issuer, own] of rows) {
      const known = this.#issuers.get(issuer);
      const entries = own.sort(newestFirst).map((row) => {
        const text = JSON.stringify(row);
        return [text, known?.get(text) ?? registrationOf(row)] as const;
      });
      this.#issuers.set(issuer, new Map(entries));
    }
    this.#changes++;
  }
}

function newestFirst(left: Row, right: Row): number {
  return right.createdAtMs - left.createdAtMs || (left.kid ?? '').localeCompare(right.kid ?? '');
}

function registrationOf(row: Row): Registration {
  const { issuer, kid, algorithms, publicKey, jwksUrl } = row;
  const owner = ownerOf(row);
  if (publicKey === null) return { keySet: { url: jwksUrl!, algorithms, owner } };
  const read = readIssuerPem(publicKey);
  if (!read) return {};
  const able = algorithms.filter((algorithm) => read.algorithms.includes(algorithm));
  const id = `${issuer} ${kid ?? ''}`;
  return { key: { id, kid: kid ?? undefined, publicKey: read.publicKey, algorithms: able, owner } };
}

function ownerOf({ acquirerId, integratorId, merchantId }: Row): Tenant {
  return { acquirerId, ...(integratorId !== null && { integratorId }), ...(merchantId !== null && { merchantId }) };
}
