import { createPublicKey, type KeyObject } from 'node:crypto';
import type { SigningAlgorithm } from '#schemas/tokens';
import type { Tenant } from '../transactions/ports.ts';

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
 * What is registered. Asked for every token and never waited for: answers come from memory and are at most 4 s behind what was
 * committed, because a revoked key must stop working within 5 s (contract, "Authentication").
 */
export interface IssuerKeys {
  /** The live keys of an issuer, newest first; none when nobody registered it. A JWKS URL is resolved here. */
  find(issuer: string): Promise<readonly IssuerKey[]>;
  /**
   * A text that changes with everything `find` and `Merchants.findOwned` may answer: a key registered, revoked or rotated, an
   * issuer removed, a merchant moved or blocked.
   */
  generation(): Promise<string>;
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

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly SigningAlgorithm[] {
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  if (asymmetricKeyType === 'rsa') return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS ? ['RS256', 'PS256'] : [];
  if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve === 'prime256v1' ? ['ES256'] : [];
  return asymmetricKeyType === 'ed25519' ? ['EdDSA'] : [];
}
