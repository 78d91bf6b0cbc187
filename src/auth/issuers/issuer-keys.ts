import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { publishedKey, publishedKeySet } from '#schemas/key-set';
import type { SigningAlgorithm } from '#schemas/tokens';
import type { Tenant } from '../../transactions/ports/store-ports.ts';

/** A public key that an integrator or merchant registered, by PEM or by way of a JWKS URL. */
export interface IssuerKey {
  /** Ours, never the `kid`: stable for as long as the key is registered. */
  readonly id: string;
  /** The `kid` that its tokens carry, when they carry one. */
  readonly kid: string | undefined;
  /** What it may sign with: one algorithm, or RS256 and PS256 for an RSA key. */
  readonly algorithms: readonly SigningAlgorithm[];
  readonly publicKey: KeyObject;
  /** Signs only for merchants of this tenant. */
  readonly owner: Tenant;
}

/**
 * An issuer as one acquirer registered it. Names of issuers are not unique: another acquirer may use the same one, and its
 * keys then sign for its own merchants alone.
 */
export interface ScopedIssuer {
  readonly acquirerId: number;
  /** `iss` of its tokens. */
  readonly name: string;
}

/**
 * The keys that may sign. What is registered comes from memory and is at most 4 s behind what was committed, because a
 * revoked key must stop working within 5 s (contract, "Authentication"). What issuers publish is waited for when it is not
 * known yet.
 */
export interface IssuerKeys {
  /**
   * The acquirers where an issuer of this name has live keys, from memory. The one that registered the name first comes
   * first, also when its first key is revoked by now.
   */
  acquirersOf(name: string): readonly number[];
  /**
   * The live keys of an issuer, newest first; none when nobody registered it.
   *
   * @param kid that is looked for: worth another look at what the issuer publishes
   */
  find(issuer: ScopedIssuer, kid?: string): Promise<readonly IssuerKey[]>;
  /**
   * A text that changes with everything `find` and `Merchants.findOwned` may answer: a key registered, revoked or rotated, an
   * issuer removed, a merchant moved or blocked.
   */
  generation(): Promise<string>;
}

/** Where an issuer publishes its keys, instead of registering each. */
export interface KeySetRegistration {
  readonly url: string;
  /** What its keys may sign with, whatever they say. */
  readonly algorithms: readonly SigningAlgorithm[];
  readonly owner: Tenant;
}

/** What is registered of issuers, from memory. */
export interface RegisteredIssuers extends IssuerKeys {
  keySets(issuer: ScopedIssuer): readonly KeySetRegistration[];
}

export interface OwnedMerchant {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly merchantId: string;
  readonly isBlocked: boolean;
}

/** As `IssuerKeys`, from memory. */
export interface Merchants {
  /** The merchant, when it is the tenant itself or one of the tenant's. */
  findOwned(owner: Tenant, merchantId: string): Promise<OwnedMerchant | undefined>;
  /** Whether the tenant is blocked, or one that it belongs to: nothing of it is let in then, but by the operator's keys. */
  isBlocked(tenant: Tenant): Promise<boolean>;
}

/** NIST SP 800-131A: less is no longer a signature. */
const MIN_RSA_BITS = 2_048;
/** RFC 8017 sets no limit; verification takes cubic time in this. */
const MAX_RSA_BITS = 8_192;
/** An RSA key of 8,192 bits as PEM takes 1,500 characters. */
const MAX_PEM_CHARS = 4_096;

/**
 * Reads the PEM that an integrator registers (`PUBLIC KEY`, or `CERTIFICATE` for its key alone).
 *
 * @returns the key and every algorithm that it can verify, or undefined when it is none of RSA (2,048 to 8,192 bits), P-256 and
 *   Ed25519, or when it is a private key, which nobody should have sent
 */
export function readIssuerPem(
  pem: string,
): { readonly publicKey: KeyObject; readonly algorithms: readonly SigningAlgorithm[] } | undefined {
  if (pem.length > MAX_PEM_CHARS || pem.includes('PRIVATE')) return undefined;
  try {
    const publicKey = createPublicKey({ key: pem, format: 'pem' });
    const algorithms = algorithmsOf(publicKey);
    return algorithms.length === 0 ? undefined : { publicKey, algorithms };
  } catch {
    return undefined;
  }
}

/** A key of a set that an issuer publishes. */
export interface PublishedKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly SigningAlgorithm[];
  readonly publicKey: KeyObject;
}

/**
 * Reads a key set (RFC 7517 5) as an issuer publishes it.
 *
 * @returns the keys among it that verify signatures of ours to take, or undefined when it is no key set at all
 */
export function readKeySet(json: string): readonly PublishedKey[] | undefined {
  const set = publishedKeySet.safeParse(parseJson(json));
  return set.success ? set.data.keys.flatMap(readPublishedKey) : undefined;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** None for what is not understood (RFC 7517 5), or is for something else. */
function readPublishedKey(entry: unknown): PublishedKey[] {
  const { data: key } = publishedKey.safeParse(entry);
  if (key === undefined) return [];
  try {
    const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    const algorithms = algorithmsOf(publicKey).filter((algorithm) => (key.alg ?? algorithm) === algorithm);
    return algorithms.length === 0 ? [] : [{ kid: key.kid, algorithms, publicKey }];
  } catch {
    return [];
  }
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly SigningAlgorithm[] {
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  if (asymmetricKeyType === 'rsa') return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS ? ['RS256', 'PS256'] : [];
  if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve === 'prime256v1' ? ['ES256'] : [];
  return asymmetricKeyType === 'ed25519' ? ['EdDSA'] : [];
}
