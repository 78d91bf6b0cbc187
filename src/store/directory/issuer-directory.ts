import type { SigningAlgorithm } from '#schemas/tokens';
import {
  type IssuerKey,
  type KeySetRegistration,
  readIssuerPem,
  type ScopedIssuer,
} from '../../auth/issuers/issuer-keys.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import { FollowedTable, type RowChanges } from '../postgres/followed-table.ts';
import type { Database } from '../postgres/open-database.ts';

interface Row {
  readonly issuer: string;
  readonly kid: string | null;
  readonly acquirerId: number;
  readonly integratorId: number | null;
  readonly merchantId: string | null;
  readonly algorithms: readonly SigningAlgorithm[];
  /** PEM; null if there is a URL. */
  readonly publicKey: string | null;
  readonly jwksUrl: string | null;
  readonly createdAtMs: number;
}

interface Registration {
  /** Undefined if the stored key cannot be read; it then verifies nothing. */
  readonly key?: IssuerKey | undefined;
  readonly keySet?: KeySetRegistration | undefined;
}

const REGISTERED = `select issuer, kid, acquirer_id as "acquirerId", integrator_id as "integratorId",
  merchant_id as "merchantId", algorithms, public_key as "publicKey", jwks_url as "jwksUrl",
  (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
  from issuer_keys where revoked_at is null`;

/**
 * Every issuer's keys and the URLs of its key sets, newest first. Parsing a PEM is expensive, so only new ones are
 * parsed.
 */
export class IssuerDirectory {
  readonly #table: FollowedTable<Row>;
  /** Registrations by issuer name, then by acquirer. */
  readonly #issuers = new Map<string, ReadonlyMap<number, OwnRegistrations>>();
  #changes = 0;

  constructor(database: Database) {
    this.#table = new FollowedTable<Row>(database, REGISTERED, 'x.issuer', (changes) => this.#take(changes));
  }

  /** Increases with every change of a registration. */
  get changes(): number {
    return this.#changes;
  }

  acquirersOf(name: string): readonly number[] {
    return [...(this.#issuers.get(name)?.keys() ?? [])];
  }

  keys(issuer: ScopedIssuer): readonly IssuerKey[] {
    return this.#registrations(issuer).flatMap(({ key }) => key ?? []);
  }

  keySets(issuer: ScopedIssuer): readonly KeySetRegistration[] {
    return this.#registrations(issuer).flatMap(({ keySet }) => keySet ?? []);
  }

  refresh(): Promise<void> {
    return this.#table.look();
  }

  #registrations({ acquirerId, name }: ScopedIssuer): readonly Registration[] {
    return [...(this.#issuers.get(name)?.get(acquirerId)?.values() ?? [])];
  }

  /** All rows of an issuer are in one part of the table, so they arrive together. */
  #take({ gone, present }: RowChanges<Row>): void {
    const rows = Map.groupBy(present, ({ issuer }) => issuer);
    for (const { issuer } of gone) if (!rows.has(issuer)) this.#issuers.delete(issuer);
    for (const [issuer, ofAll] of rows) {
      const known = this.#issuers.get(issuer);
      const byAcquirer = Map.groupBy(ofAll, ({ acquirerId }) => acquirerId);
      const entries = [...byAcquirer].map(
        ([acquirerId, own]) => [acquirerId, registrationsOf(own, known?.get(acquirerId))] as const,
      );
      this.#issuers.set(issuer, new Map(entries));
    }
    this.#changes++;
  }
}

/** An acquirer's registrations of an issuer, newest first, each keyed with its row as text. */
type OwnRegistrations = ReadonlyMap<string, Registration>;

function registrationsOf(rows: Row[], known: OwnRegistrations | undefined): OwnRegistrations {
  const entries = rows.sort(newestFirst).map((row) => {
    const text = JSON.stringify(row);
    return [text, known?.get(text) ?? registrationOf(row)] as const;
  });
  return new Map(entries);
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
  const id = `${owner.acquirerId} ${issuer} ${kid ?? ''}`;
  return { key: { id, kid: kid ?? undefined, publicKey: read.publicKey, algorithms: able, owner, standing: 'proven' } };
}

function ownerOf({ acquirerId, integratorId, merchantId }: Row): Tenant {
  return { acquirerId, ...(integratorId !== null && { integratorId }), ...(merchantId !== null && { merchantId }) };
}
