import type pg from 'pg';
import type { NewIssuerKey, StoredIssuerKey } from '#schemas/admin-credentials';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '#schemas/tokens';
import { readIssuerPem } from '../../auth/issuers/issuer-keys.ts';
import { isPossessionProof } from '../../auth/issuers/possession-proof.ts';
import { isReservedIssuer } from '../../auth/issuers/reserved-issuers.ts';
import { brokenRules, invalidValues, RequestRejected } from '../../basics/errors.ts';
import { readCallbackUrl, URL_FAULTS, type UrlPolicy } from '../../webhooks/callback-url.ts';
import type { Database } from '../postgres/open-database.ts';
import { AcquirerSettings, type Page } from './acquirer-settings.ts';
import { type Change, inAdminCommit, type Reach } from './admin-commit.ts';
import { findOwner, type NamedOwner, ownerAlone } from './find-owner.ts';
import type { Removal, SettingsTable } from './settings-table.ts';

/** Every gateway holds all of them in memory; an integrator has one, and two during a rotation. */
const MAX_ISSUER_KEYS = 10_000;

interface KeyRow extends Omit<NewIssuerKey, 'algorithms' | 'proof'> {
  readonly algorithms: readonly SigningAlgorithm[];
  readonly provenAt: Date | null;
}

const ISSUER_KEYS: SettingsTable<KeyRow, StoredIssuerKey> = {
  kind: 'issuer key',
  table: 'issuer_keys',
  key: { name: 'id', column: 'id', from: 'database' },
  most: MAX_ISSUER_KEYS,
  columns: {
    issuer: 'issuer',
    kid: 'kid',
    integratorId: 'integrator_id',
    merchantId: 'merchant_id',
    algorithms: 'algorithms',
    publicKey: 'public_key',
    jwksUrl: 'jwks_url',
    provenAt: 'proven_at',
  },
  reads: { revokedAt: 'revoked_at' },
  removed: { column: 'revoked_at', isShown: true },
};

const PROOF_FAULT =
  'must be a JWS (typ issuer-key-proof+jwt) of the private key, with iss, aud, acquirerId, and iat within 7 days';

export interface IssuerRules {
  /** The URLs that are allowed for JWKS. */
  readonly policy: UrlPolicy;
  /** The issuer of the gateway's own tokens, and the audience of proofs. */
  readonly ownName: string;
}

/** The keys with which backends of integrators and merchants sign tokens. A second `kid` allows rotation. */
export class IssuerKeySettings {
  readonly #database: Database;
  readonly #rules: IssuerRules;
  readonly #rows: AcquirerSettings<KeyRow, StoredIssuerKey>;

  constructor(database: Database, rules: IssuerRules) {
    this.#database = database;
    this.#rules = rules;
    this.#rows = new AcquirerSettings(database, ISSUER_KEYS);
  }

  /** Ordered by id, revoked keys included. @throws NotFound for an unknown acquirer */
  list(reach: Reach, page: Page): Promise<StoredIssuerKey[]> {
    return this.#rows.list(reach, page);
  }

  /** @throws NotFound */
  find(reach: Reach, id: string): Promise<StoredIssuerKey> {
    return this.#rows.find(reach, id);
  }

  /**
   * @throws NotFound for an unknown acquirer; RequestRejected for an unusable key, and for an issuer of another owner
   */
  async add(change: Change, wanted: NewIssuerKey): Promise<StoredIssuerKey> {
    const row = await this.#checked(wanted, change.acquirerId);
    return inAdminCommit(this.#database, change.acquirerId, async (client) => {
      const owner = ownerAlone(await findOwner(client, change, wanted));
      await claimIssuer(client, change.acquirerId, row.issuer, owner);
      return this.#rows.addIn(client, change, { ...row, ...owner });
    });
  }

  /** Revokes the key: from then on no signature of it is accepted. @throws NotFound also for a revoked key */
  remove(change: Change, id: string): Promise<Removal | undefined> {
    return this.#rows.remove(change, id);
  }

  /** @throws RequestRejected with a pointer to each fault */
  async #checked({ proof, ...wanted }: NewIssuerKey, acquirerId: number): Promise<KeyRow> {
    const { issuer, publicKey, jwksUrl, kid, integratorId, merchantId } = wanted;
    const isPem = publicKey !== null;
    const key = isPem ? readIssuerPem(publicKey) : undefined;
    const known = isPem ? key?.algorithms : SIGNING_ALGORITHMS;
    const registration = { issuer, acquirerId, audience: this.#rules.ownName };
    const isProven = key !== undefined && proof !== null && (await isPossessionProof(proof, key, registration));
    const url = jwksUrl === null ? undefined : readCallbackUrl(jwksUrl, this.#rules.policy);
    const faults = brokenRules([
      [isReservedIssuer(wanted.issuer, this.#rules.ownName), 'issuer', 'is reserved for tokens of the gateway'],
      [integratorId === null && merchantId === null, 'integratorId', 'neither an integrator nor a merchant'],
      [isPem === (jwksUrl !== null), 'publicKey', 'either a public key or the URL of a JWKS'],
      [known === undefined, 'publicKey', 'no public key as PEM of RSA (2,048 to 8,192 bits), P-256 or Ed25519'],
      [typeof url === 'string', 'jwksUrl', URL_FAULTS[url as keyof typeof URL_FAULTS]],
      [key !== undefined && !isProven, 'proof', PROOF_FAULT],
      [jwksUrl !== null && proof !== null, 'proof', 'keys of a JWKS have none'],
      [jwksUrl !== null && kid !== null, 'kid', 'keys of a JWKS bring their own'],
      [
        known !== undefined && (wanted.algorithms ?? []).some((each) => !known.includes(each)),
        'algorithms',
        'not what keys of this kind sign with',
      ],
    ]);
    if (faults.length > 0) throw invalidValues(faults);
    return {
      ...wanted,
      algorithms: wanted.algorithms ?? known!,
      jwksUrl: url instanceof URL ? url.href : null,
      provenAt: isProven ? new Date() : null,
    };
  }
}

// At one acquirer all keys of an issuer belong to one owner, permanently. Keys that other acquirers register with the
// same issuer name do not matter and are not visible.
const OTHER_OWNER = `
select from issuer_keys
where acquirer_id = $2 and issuer = $1 and (integrator_id, merchant_id) is distinct from ($3::integer, $4::text) limit 1`;

const OTHER_JWKS = `
select from issuer_keys where acquirer_id = $2 and issuer = $1 and jwks_url is not null and revoked_at is null limit 1`;

async function claimIssuer(
  client: pg.ClientBase,
  acquirerId: number,
  issuer: string,
  owner: NamedOwner,
): Promise<void> {
  const { rowCount } = await client.query(OTHER_OWNER, [issuer, acquirerId, owner.integratorId, owner.merchantId]);
  if (rowCount !== 0) throw new RequestRejected('ISSUER_HAS_OTHER_OWNER');
  const jwks = await client.query(OTHER_JWKS, [issuer, acquirerId]);
  if (jwks.rowCount !== 0) throw new RequestRejected('ISSUER_HAS_JWKS');
}
