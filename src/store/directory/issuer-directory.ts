import type { SigningAlgorithm } from '#schemas/tokens';
import { type IssuerKey, type KeySetRegistration, readIssuerPem } from '../../auth/issuers/issuer-keys.ts';
import type { Tenant } from '../../transactions/ports.ts';
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
}

interface Registration {
  readonly issuer: string;
  /** None when the stored key cannot be read: it then verifies nothing. */
  readonly key?: IssuerKey | undefined;
  readonly keySet?: KeySetRegistration | undefined;
}

const REGISTERED = `select issuer, kid, acquirer_id as "acquirerId", integrator_id as "integratorId",
  merchant_id as "merchantId", algorithms, public_key as "publicKey", jwks_url as "jwksUrl"
  from issuer_keys where revoked_at is null order by issuer, created_at desc, kid`;

/** Every issuer's keys and the URLs of its key sets. Reading a PEM is dear, so only those that changed are read again. */
export class IssuerDirectory {
  readonly #database: Database;
  #registrations: ReadonlyMap<string, Registration> = new Map();
  #byIssuer: ReadonlyMap<string, readonly Registration[]> = new Map();

  constructor(database: Database) {
    this.#database = database;
  }

  keys(issuer: string): readonly IssuerKey[] {
    return (this.#byIssuer.get(issuer) ?? []).flatMap(({ key }) => key ?? []);
  }

  keySets(issuer: string): readonly KeySetRegistration[] {
    return (this.#byIssuer.get(issuer) ?? []).flatMap(({ keySet }) => keySet ?? []);
  }

  /** @returns a text that changes with everything that is registered */
  async refresh(): Promise<string> {
    const { rows } = await this.#database.query<Row>(REGISTERED);
    const entries = rows.map((row) => {
      const text = JSON.stringify(row);
      return [text, this.#registrations.get(text) ?? registrationOf(row)] as const;
    });
    this.#registrations = new Map(entries);
    this.#byIssuer = Map.groupBy(this.#registrations.values(), ({ issuer }) => issuer);
    return [...this.#registrations.keys()].join();
  }
}

function registrationOf(row: Row): Registration {
  const { issuer, kid, algorithms, publicKey, jwksUrl } = row;
  const owner = ownerOf(row);
  if (publicKey === null) return { issuer, keySet: { url: jwksUrl!, algorithms, owner } };
  const read = readIssuerPem(publicKey);
  if (!read) return { issuer };
  const able = algorithms.filter((algorithm) => read.algorithms.includes(algorithm));
  const id = `${issuer} ${kid ?? ''}`;
  return { issuer, key: { id, kid: kid ?? undefined, publicKey: read.publicKey, algorithms: able, owner } };
}

function ownerOf({ acquirerId, integratorId, merchantId }: Row): Tenant {
  return { acquirerId, ...(integratorId !== null && { integratorId }), ...(merchantId !== null && { merchantId }) };
}
