import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { publishedKey, publishedKeySet } from '#schemas/key-set';
import { MAX_TOKEN_CHARS, POSSESSION_PROOF_TYPE, possessionProofClaims, type SigningAlgorithm } from '#schemas/tokens';
import { parseJson } from '../../basics/parse-json.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';

/** A public key of an integrator or merchant, registered as PEM or published at a JWKS URL. */
export interface IssuerKey {
  /** The gateway's id, never the `kid`: stable while the key is registered. */
  readonly id: string;
  /** The `kid` in its tokens, if any. */
  readonly kid: string | undefined;
  /** Permitted algorithms: one, or RS256 and PS256 for an RSA key. */
  readonly algorithms: readonly SigningAlgorithm[];
  readonly publicKey: KeyObject;
  /** Signs only for merchants of this tenant. */
  readonly owner: Tenant;
  /**
   * `proven`: the holder of the private key has consented to the registration (`isPossessionProof`). `published`: it
   * comes from a key set, and everyone can publish a public key.
   */
  readonly standing: 'proven' | 'published';
}

/**
 * An issuer as one acquirer registered it. Issuer names are not unique: another acquirer may use the same name, and
 * its keys then sign only for its own merchants.
 */
export interface ScopedIssuer {
  readonly acquirerId: number;
  /** `iss` of its tokens. */
  readonly name: string;
}

/**
 * The keys that may sign. Registered keys come from memory and are at most 4 s behind the last commit, because a
 * revoked key must stop working within 5 s (contract, "Authentication"). For published keys that are not known yet,
 * the call waits.
 */
export interface IssuerKeys {
  /** The acquirers that have live keys of an issuer with this name, from memory. Their order means nothing. */
  acquirersOf(name: string): readonly number[];
  /**
   * The live keys of an issuer that are in memory, as `find`. The call never waits: a set of published keys that was not
   * fetched yet is fetched in the background.
   */
  known(issuer: ScopedIssuer): readonly IssuerKey[];
  /**
   * The live keys of an issuer, newest first; empty if the issuer is not registered.
   *
   * @param kid if unknown, the issuer's published keys are fetched again
   */
  find(issuer: ScopedIssuer, kid?: string): Promise<readonly IssuerKey[]>;
  /**
   * A text that changes with everything that `find` and `Merchants.findOwned` may return: a key registered, revoked
   * or rotated, an issuer removed, a merchant moved or blocked.
   */
  generation(): string;
}

/** The URL at which an issuer publishes its keys, instead of registering each. */
export interface KeySetRegistration {
  readonly url: string;
  /** Permitted algorithms, regardless of what the keys state. */
  readonly algorithms: readonly SigningAlgorithm[];
  readonly owner: Tenant;
}

/** The registered issuers, from memory: `known` has all of their keys. */
export interface RegisteredIssuers extends Omit<IssuerKeys, 'find'> {
  keySets(issuer: ScopedIssuer): readonly KeySetRegistration[];
}

export interface OwnedMerchant {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly merchantId: string;
  readonly isBlocked: boolean;
}

/** Finds merchants in memory, as the gateway's directory does. */
export interface Merchants {
  /** The merchant, if it is the tenant itself or belongs to it. */
  findOwned(owner: Tenant, merchantId: string): OwnedMerchant | undefined;
  /** Whether the tenant, or one to which it belongs, is blocked. Then only the operator's keys are accepted. */
  isBlocked(tenant: Tenant): boolean;
}

/** NIST SP 800-131A: shorter keys do not make secure signatures. */
const MIN_RSA_BITS = 2_048;
/** RFC 8017 sets no limit; the time of a verification grows with the cube of this. */
const MAX_RSA_BITS = 8_192;
/** An RSA key of 8,192 bits as PEM takes 1,500 characters. */
const MAX_PEM_CHARS = 4_096;

/**
 * Reads the PEM that an integrator registers (`PUBLIC KEY`, or `CERTIFICATE`, of which only the key is used).
 *
 * @returns the key and every algorithm that it can verify; undefined if it is not RSA (2,048 to 8,192 bits), P-256 or
 * Ed25519, or if it is a private key, which should not have been sent
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
 * @returns the keys that can verify signatures for the gateway; undefined if it is not a key set
 */
export function readKeySet(json: string): readonly PublishedKey[] | undefined {
  const set = publishedKeySet.safeParse(parseJson(json));
  return set.success ? set.data.keys.flatMap(readPublishedKey) : undefined;
}

/** Empty for an entry that is not understood (RFC 7517 5) or has another purpose. */
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

/**
 * Reserved also if the installation has another name: a person who reads a token would think that the gateway signed
 * it.
 */
const PRODUCT_NAME = 'tapwire';

/**
 * Whether tokens of this issuer could be mistaken for tokens of the gateway. Names that differ only in case, width or
 * outer spaces look the same to people, and are also reserved.
 *
 * @param ownName issuer of the gateway's own tokens
 */
export function isReservedIssuer(issuer: string, ownName: string): boolean {
  const name = folded(issuer);
  return name === PRODUCT_NAME || name === folded(ownName);
}

function folded(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/** People send proofs to acquirers. A proof is valid for one registration by one acquirer, so a theft gains nothing. */
const MAX_AGE_SECONDS = 7 * 24 * 60 * 60;
/** Difference of clocks, the same as for the tokens that the key will sign. */
const LEEWAY_SECONDS = 60;

/** What a key is registered for. */
export interface Registration {
  readonly issuer: string;
  readonly acquirerId: number;
  /** `TAPWIRE_AUDIENCE` of the gateway. */
  readonly audience: string;
}

/**
 * Whether the holder of a private key agrees to the registration of its public key at an acquirer. The proof is a JWS
 * that the private key signs, about one issuer, one acquirer and one gateway. Public keys are public. Without the proof,
 * an acquirer could register a copy of the key of another acquirer's integrator, and claim its tokens. The type of the
 * JWS keeps it from being read as a token, and a token from being read as a proof.
 */
export async function isPossessionProof(
  proof: string,
  { publicKey, algorithms }: { readonly publicKey: KeyObject; readonly algorithms: readonly SigningAlgorithm[] },
  { issuer, acquirerId, audience }: Registration,
  nowMs = Date.now(),
): Promise<boolean> {
  if (proof.length > MAX_TOKEN_CHARS) return false;
  try {
    const { payload } = await jwtVerify(proof, publicKey, {
      ...{ issuer, audience, algorithms: [...algorithms], typ: POSSESSION_PROOF_TYPE },
      ...{ maxTokenAge: MAX_AGE_SECONDS, clockTolerance: LEEWAY_SECONDS, currentDate: new Date(nowMs) },
    });
    return possessionProofClaims.parse(payload).acquirerId === acquirerId;
  } catch {
    return false;
  }
}

/** The proof, as an integrator signs it. */
export function signPossessionProof(
  privateKey: KeyObject,
  algorithm: SigningAlgorithm,
  { issuer, acquirerId, audience }: Registration,
): Promise<string> {
  return new SignJWT({ acquirerId })
    .setProtectedHeader({ alg: algorithm, typ: POSSESSION_PROOF_TYPE })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .sign(privateKey);
}
