import type { KeyObject } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { type PinTokenClaims, pinTokenClaims } from '#schemas/mobile-transaction';
import { MAX_TOKEN_CHARS } from '#schemas/tokens';
import { AuthError } from '../../basics/errors.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { PinTokens, PinTokenVerdict } from '../../payments/ports/switch-ports.ts';
import { REFUSED_PARAMETERS } from './read-token.ts';

/**
 * Tokens that the gateway signs (contract, "Authentication"): ES256 with `kid`, and a `use`, so that a token of one
 * use is not accepted for another. The package `jose` verifies.
 */

/** Purposes of tokens. */
const TOKEN_USES = ['login', 'intent', 'intentSession', 'proximity', 'pin'] as const;
export type TokenUse = (typeof TOKEN_USES)[number];

/** A key pair of the installation, P-256. */
export interface TokenKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  /** ES256: r and s, 64 bytes. */
  sign(message: Uint8Array): Promise<Buffer> | Buffer;
}

/** The keys of the installation for tokens. */
export interface TokenKeys {
  /** Newest first: the first one signs. */
  readonly tokenSigning: readonly TokenKey[];
  /**
   * Any key for verification, including one that another process has signed with and this process does not know yet.
   */
  tokenKey(kid: string): TokenKey | undefined;
}

/** A valid token of the gateway with any use. */
export interface OwnToken {
  readonly use: TokenUse;
  readonly claims: JWTPayload;
}

/** Claims of every token besides its use, issuer, audience and `iat`. */
export interface OwnTokenClaims extends JWTPayload {
  readonly sub: string;
  readonly jti: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

const ALGORITHM = 'ES256';
const TYPE = 'JWT';

export class OwnTokens {
  readonly #options;

  constructor(options: {
    /** Read for each token, because a rotation needs no restart. */
    readonly keys: TokenKeys;
    /** The name of the installation: issuer and audience of these tokens. */
    readonly name: string;
    /** Milliseconds since 1970, for `iat` and `exp`. */
    readonly nowMs: () => number;
  }) {
    this.#options = options;
  }

  /** Compact JWS (RFC 7515 3.1). The package `jose` signs only with a key in memory, and this one may be in a token. */
  async sign(use: TokenUse, claims: OwnTokenClaims): Promise<string> {
    const { keys, name, nowMs } = this.#options;
    const key = keys.tokenSigning[0]!;
    const iat = Math.floor(nowMs() / 1_000);
    const header = { alg: ALGORITHM, typ: TYPE, kid: key.kid };
    const payload = { ...claims, iss: name, aud: name, iat, use };
    const signed = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const signature = await key.sign(Buffer.from(signed));
    return `${signed}.${signature.toString('base64url')}`;
  }

  /** Whether a token claims to be of the gateway. Then only this class verifies it. */
  isOwn(token: string): boolean {
    if (token.length > MAX_TOKEN_CHARS) return false;
    try {
      return decodeJwt(token).iss === this.#options.name;
    } catch {
      return false;
    }
  }

  /**
   * @param graceSeconds how long after its expiry a token is accepted, for operations that started in time
   * @returns the claims of a gateway token of this use
   * @throws {AuthError} JWT_INVALID with the check that it fails, JWT_EXPIRED if it is valid otherwise
   */
  async verify(use: TokenUse, token: string, graceSeconds = 0): Promise<JWTPayload> {
    const { payload, isExpired } = await this.#read(token);
    if (payload.use !== use) throw new AuthError('JWT_INVALID', 'use');
    const endsAtMs = (payload.exp! + graceSeconds) * 1_000;
    if (isExpired && this.#options.nowMs() >= endsAtMs) throw new AuthError('JWT_EXPIRED', 'expired');
    return payload;
  }

  /** Verifies a gateway token of any use. @throws {AuthError} as `verify` does */
  async verifyAny(token: string): Promise<OwnToken> {
    const { payload, isExpired } = await this.#read(token);
    const use = TOKEN_USES.find((known) => known === payload.use);
    if (use === undefined) throw new AuthError('JWT_INVALID', 'use');
    if (isExpired) throw new AuthError('JWT_EXPIRED', 'expired');
    return { use, claims: payload };
  }

  async #read(token: string): Promise<{ readonly payload: JWTPayload; readonly isExpired: boolean }> {
    if (token.length > MAX_TOKEN_CHARS) throw new AuthError('JWT_INVALID', 'size');
    const { name, nowMs } = this.#options;
    const options = {
      algorithms: [ALGORITHM],
      typ: TYPE,
      issuer: name,
      audience: name,
      requiredClaims: ['sub', 'jti', 'iat', 'exp'],
      currentDate: new Date(nowMs()),
    };
    try {
      const { payload } = await jwtVerify(token, (header: object) => this.#keyOf(header), options);
      return { payload, isExpired: false };
    } catch (error) {
      if (error instanceof AuthError) throw error;
      if (error instanceof errors.JWTExpired) return { payload: error.payload, isExpired: true };
      throw new AuthError('JWT_INVALID', 'signature');
    }
  }

  #keyOf(header: object): KeyObject {
    const { kid } = header as { readonly kid?: string };
    // The gateway never writes any of these, so such a token is forged or has another meaning.
    if (REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) throw new AuthError('JWT_INVALID', 'header');
    const key = kid === undefined ? undefined : this.#options.keys.tokenKey(kid);
    if (key === undefined) throw new AuthError('JWT_INVALID', 'key');
    return key.publicKey;
  }
}

/**
 * The tokens of the PIN step, bound to a transaction, its attempt and its device. They are not stored: the row
 * contains the attempt and the time limit of the PIN. A token can therefore be created again for a repeated response,
 * and the next attempt invalidates every token of the previous one.
 */
export function createPinTokens(tokens: OwnTokens): PinTokens {
  return {
    issue: ({ id, attempt, merchantId, deviceInstallationId, pinExpiresAtMs }) => {
      const claims: PinTokenClaims = { txn: id, attempt, device: deviceInstallationId };
      // Rounded up to the next second; in between, the row decides.
      const exp = Math.ceil((pinExpiresAtMs ?? 0) / 1_000);
      return tokens.sign('pin', { ...claims, sub: merchantId, jti: `${id}.${attempt}`, exp });
    },
    check: (token, transaction) => check(tokens, token, transaction),
  };
}

async function check(tokens: OwnTokens, token: string, transaction: Transaction): Promise<PinTokenVerdict> {
  try {
    const claims = pinTokenClaims.safeParse(await tokens.verify('pin', token));
    if (!claims.success) return 'foreign';
    const { txn, attempt, device } = claims.data;
    if (txn !== transaction.id || device !== transaction.deviceInstallationId) return 'foreign';
    return attempt === transaction.attempt ? 'good' : 'spent';
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return error.code === 'JWT_EXPIRED' ? 'spent' : 'foreign';
  }
}
