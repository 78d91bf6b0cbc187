/**
 * Bearer tokens of integrators' backends (contract, "Authentication"): `iss` selects the issuer, `kid` the key, the
 * package `jose` verifies the signature, and the key's owner must own the merchant in `sub`.
 */
import { hash } from 'node:crypto';
import { compactVerify } from 'jose';
import { MAX_TOKEN_CHARS } from '#schemas/tokens';
import { AuthError } from '../../basics/errors.ts';
import { LruMap } from '../../codecs/bytes/lru-map.ts';
import type { Principal } from '../../payments/ports/directory-ports.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import { readToken, type UnverifiedToken } from '../tokens/read-token.ts';
import {
  type IssuerKey,
  type IssuerKeys,
  isReservedIssuer,
  type Merchants,
  type OwnedMerchant,
} from './issuer-keys.ts';

const MAX_LIFETIME_SECONDS = 24 * 60 * 60;
/** Clocks of backends are often set by hand. */
const LEEWAY_SECONDS = 60;
/** Tokens in use at once; an entry takes about 1 KB. Evicted ones are verified again. */
const MAX_CACHED_TOKENS = 16_384;
/** A rotation has two keys, a fleet of backends a few more. A token without `kid` is tried with at most this many. */
const MAX_TRIED_KEYS = 8;
/** Different keys that are tried if several acquirers registered one issuer; more than one or two is a mistake. */
const MAX_TRIED_KEYS_OF_ALL = 32;

/** Identity of a token, and its claims about the merchant. */
export interface MerchantPrincipal extends Principal {
  readonly integratorId: number;
  readonly userClaim: string;
  readonly issuer: string;
  /** The gateway's id of the key that signed. */
  readonly keyId: string;
  /** Owner of the key: the merchant itself, or its integrator. */
  readonly keyOwner: Tenant;
  /** `mbn` */
  readonly merchantName: string | null;
  readonly mcc: string | null;
  /** The permissions in `scope` and `permissions`. */
  readonly permissions: ReadonlySet<string>;
  readonly expiresAtMs: number;
}

/** A token that was verified once: its content cannot change, but its key and merchant can. */
interface VerifiedToken {
  readonly principal: MerchantPrincipal;
  readonly key: IssuerKey;
  /** Whether it has the claim `acquirerId`. If not, a registration of another acquirer can make it ambiguous. */
  readonly namesAcquirer: boolean;
  /** The generation at which key and merchant were last confirmed. */
  generation: string;
}

export class MerchantTokenVerifier {
  readonly #options;
  readonly #nowMs: () => number;
  /** Keyed by SHA-256: otherwise every heap dump would contain the tokens for up to a day. */
  readonly #tokens = new LruMap<string, VerifiedToken>(MAX_CACHED_TOKENS);

  constructor(options: {
    readonly keys: IssuerKeys;
    readonly merchants: Merchants;
    /** Required in `aud`; the gateway's own name, so no issuer can have it. */
    readonly audience: string;
    /** Milliseconds since 1970, for `iat` and `exp`. */
    readonly nowMs?: () => number;
  }) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  /**
   * @param token the text after `Bearer `
   * @throws {AuthError} JWT_INVALID, JWT_EXPIRED, or FORBIDDEN if its key's owner does not own the merchant or the
   * merchant is blocked
   */
  async verify(token: string): Promise<MerchantPrincipal> {
    if (token.length > MAX_TOKEN_CHARS) throw new AuthError('JWT_INVALID', 'size');
    const digest = hash('sha256', token, 'base64url');
    const generation = this.#options.keys.generation();
    const known = this.#tokens.get(digest);
    if (known === undefined) {
      const verified = await this.#verifyNew(token, generation);
      this.#tokens.set(digest, verified);
      return verified.principal;
    }
    if (known.generation !== generation && !(await this.#stillStands(known, generation))) {
      this.#tokens.delete(digest);
      return this.verify(token);
    }
    if (isExpired(known.principal.expiresAtMs, this.#nowMs())) {
      this.#tokens.delete(digest);
      throw new AuthError('JWT_EXPIRED', 'expired');
    }
    return known.principal;
  }

  async #verifyNew(token: string, generation: string): Promise<VerifiedToken> {
    const unverified = readToken(token);
    const { sub, aud } = unverified.claims;
    const key = await this.#findSigner(token, unverified);
    checkAudience(aud, this.#options.audience);
    checkTimes(unverified.claims, this.#nowMs());
    const merchant = this.#options.merchants.findOwned(key.owner, sub);
    if (merchant === undefined) throw new AuthError('FORBIDDEN', 'owner');
    if (merchant.isBlocked) throw new AuthError('FORBIDDEN', 'blocked');
    const namesAcquirer = unverified.claims.acquirerId !== undefined;
    return { principal: principalOf(unverified, key, merchant), key, namesAcquirer, generation };
  }

  /**
   * The key that signed, and with it the acquirer. Several acquirers may have registered the issuer, and each has its own
   * merchant ids. The claim `acquirerId` decides between them. Without it, only the holder of the private key can: the key
   * must be proven for exactly one of them. Nothing else counts, and above all not which of them was first. No key set of
   * another acquirer is fetched for the token.
   *
   * @throws AuthError JWT_INVALID
   */
  async #findSigner(token: string, unverified: UnverifiedToken): Promise<IssuerKey> {
    const { iss: name } = unverified.claims;
    const acquirers = this.#acquirersOf(unverified.claims);
    if (acquirers.length > 1) return this.#findProvenSigner(acquirers, token, unverified);
    const [acquirerId] = acquirers;
    const keys = acquirerId === undefined ? [] : await this.#options.keys.find({ acquirerId, name }, unverified.kid);
    if (keys.length === 0) throw new AuthError('JWT_INVALID', 'issuer');
    const named = keysNamed(keys, unverified.kid);
    if (named.length === 0) throw new AuthError('JWT_INVALID', 'key');
    const usable = usableKeys(keys, unverified);
    if (usable.length === 0) throw new AuthError('JWT_INVALID', 'algorithm');
    const signer = await findSigner(usable.slice(0, MAX_TRIED_KEYS), token, unverified);
    if (signer === undefined) throw new AuthError('JWT_INVALID', 'signature');
    return signer;
  }

  async #findProvenSigner(
    acquirers: readonly number[],
    token: string,
    unverified: UnverifiedToken,
  ): Promise<IssuerKey> {
    const { iss: name } = unverified.claims;
    const known = acquirers.map((acquirerId) => this.#options.keys.known({ acquirerId, name }));
    const usable = known.flatMap((keys) => usableKeys(keys, unverified).slice(0, MAX_TRIED_KEYS));
    const different = usable.filter((key, at) => usable.findIndex((other) => isSamePublicKey(other, key)) === at);
    // A caller that holds none of the keys must not learn that several acquirers have the issuer.
    const signer = await findSigner(different.slice(0, MAX_TRIED_KEYS_OF_ALL), token, unverified);
    if (signer === undefined) throw new AuthError('JWT_INVALID', 'signature');
    const proven = usable.filter((key) => key.standing === 'proven' && isSamePublicKey(key, signer));
    const owners = new Set(proven.map(({ owner }) => owner.acquirerId));
    if (owners.size !== 1) throw new AuthError('JWT_INVALID', 'acquirer');
    return proven[0]!;
  }

  #acquirersOf({ iss, acquirerId: claimed }: UnverifiedToken['claims']): readonly number[] {
    if (isReservedIssuer(iss, this.#options.audience)) return [];
    const registered = this.#options.keys.acquirersOf(iss);
    return claimed === undefined ? registered : registered.filter((id) => id === claimed);
  }

  /** Whether key and merchant are unchanged since the signature was verified. If not, the token is verified again. */
  async #stillStands(known: VerifiedToken, generation: string): Promise<boolean> {
    const { principal, key } = known;
    if (!known.namesAcquirer && this.#options.keys.acquirersOf(principal.issuer).length > 1) return false;
    const keys = await this.#options.keys.find({ acquirerId: key.owner.acquirerId, name: principal.issuer });
    if (!keys.some((candidate) => isSameKey(candidate, key))) return false;
    const merchant = this.#options.merchants.findOwned(key.owner, principal.merchantId);
    const stands = merchant !== undefined && !merchant.isBlocked && merchant.integratorId === principal.integratorId;
    if (stands) known.generation = generation;
    return stands;
  }
}

/** The keys that may have signed, by kid and algorithm. */
function usableKeys(keys: readonly IssuerKey[], { kid, algorithm }: UnverifiedToken): readonly IssuerKey[] {
  return keysNamed(keys, kid).filter((key) => key.algorithms.includes(algorithm));
}

async function findSigner(
  keys: readonly IssuerKey[],
  token: string,
  { algorithm }: UnverifiedToken,
): Promise<IssuerKey | undefined> {
  for (const key of keys) if (await hasSigned(key, token, algorithm)) return key;
  return undefined;
}

/** `kid` selects among the issuer's own keys. Keys registered without one are tried for any kid. */
function keysNamed(keys: readonly IssuerKey[], kid: string | undefined): readonly IssuerKey[] {
  if (kid === undefined) return keys;
  const named = keys.filter((key) => key.kid === kid);
  return named.length > 0 ? named : keys.filter((key) => key.kid === undefined);
}

async function hasSigned(key: IssuerKey, token: string, algorithm: string): Promise<boolean> {
  try {
    await compactVerify(token, key.publicKey, { algorithms: [algorithm] });
    return true;
  } catch {
    return false;
  }
}

function isSamePublicKey(left: IssuerKey, right: IssuerKey): boolean {
  return left.publicKey.equals(right.publicKey);
}

function isSameKey(left: IssuerKey, right: IssuerKey): boolean {
  return (
    left.id === right.id &&
    isSamePublicKey(left, right) &&
    left.algorithms.join() === right.algorithms.join() &&
    left.owner.acquirerId === right.owner.acquirerId &&
    left.owner.integratorId === right.owner.integratorId &&
    left.owner.merchantId === right.owner.merchantId
  );
}

function checkAudience(aud: string | readonly string[], audience: string): void {
  const isOurs = typeof aud === 'string' ? aud === audience : aud.includes(audience);
  if (!isOurs) throw new AuthError('JWT_INVALID', 'audience');
}

function checkTimes({ iat, exp, nbf }: UnverifiedToken['claims'], nowMs: number): void {
  const latest = nowMs / 1_000 + LEEWAY_SECONDS;
  if (iat > latest || (nbf ?? 0) > latest) throw new AuthError('JWT_INVALID', 'not-yet');
  if (exp <= iat || exp - iat > MAX_LIFETIME_SECONDS) throw new AuthError('JWT_INVALID', 'lifetime');
  if (isExpired(exp * 1_000, nowMs)) throw new AuthError('JWT_EXPIRED', 'expired');
}

function isExpired(expiresAtMs: number, nowMs: number): boolean {
  return nowMs >= expiresAtMs + LEEWAY_SECONDS * 1_000;
}

function principalOf({ claims }: UnverifiedToken, key: IssuerKey, merchant: OwnedMerchant): MerchantPrincipal {
  return Object.freeze({
    acquirerId: merchant.acquirerId,
    integratorId: merchant.integratorId,
    merchantId: merchant.merchantId,
    userClaim: claims.usr,
    xTid: claims['x-tid'] ?? null,
    issuer: claims.iss,
    keyId: key.id,
    keyOwner: key.owner,
    merchantName: claims.mbn ?? null,
    mcc: claims.mcc ?? null,
    profileName: claims.spCfg ?? null,
    permissions: new Set([...(claims.scope?.split(' ').filter(Boolean) ?? []), ...(claims.permissions ?? [])]),
    expiresAtMs: claims.exp * 1_000,
  });
}
