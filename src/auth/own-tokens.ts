/**
 * Tokens that we sign ourselves (contract, "Authentication"): ES256 with `kid`, and a `use` by which no token of one use
 * passes for another. The package `jose` signs and verifies.
 */
import type { KeyObject } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { MAX_TOKEN_CHARS } from '#schemas/tokens';
import { AuthError } from '../errors.ts';

/** What a token is for. */
export type TokenUse = 'login' | 'intent' | 'intentSession' | 'proximity' | 'pin';

/** A key pair of the installation, P-256. */
export interface TokenKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The keys of the installation for tokens. */
export interface TokenKeys {
  /** Newest first: the first one signs. */
  readonly tokenSigning: readonly TokenKey[];
  /** Any of them, to verify: one too that another process has signed with and this one has not seen before. */
  tokenKey(kid: string): TokenKey | undefined;
}

export interface OwnTokensOptions {
  /** Looked at each time, since a rotation needs no restart. */
  readonly keys: TokenKeys;
  /** The name of the installation: it issues these tokens, and is their audience. */
  readonly name: string;
  /** Milliseconds since 1970, for `iat` and `exp`. */
  readonly nowMs: () => number;
}

/** What every token claims besides its use, issuer, audience and `iat`. */
export interface OwnTokenClaims extends JWTPayload {
  readonly sub: string;
  readonly jti: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

const ALGORITHM = 'ES256';
const TYPE = 'JWT';

export class OwnTokens {
  readonly #options: OwnTokensOptions;

  constructor(options: OwnTokensOptions) {
    this.#options = options;
  }

  sign(use: TokenUse, claims: OwnTokenClaims): Promise<string> {
    const { keys, name, nowMs } = this.#options;
    const { kid, privateKey } = keys.tokenSigning[0]!;
    const iat = Math.floor(nowMs() / 1_000);
    return new SignJWT({ ...claims, iss: name, aud: name, iat, use })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .sign(privateKey);
  }

  /**
   * @returns the claims of a token of ours for this use
   * @throws {AuthError} JWT_INVALID with the check that it fails, JWT_EXPIRED when it is good in everything else
   */
  async verify(use: TokenUse, token: string): Promise<JWTPayload> {
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
      const { payload } = await jwtVerify(token, (header: { kid?: string }) => this.#keyOf(header.kid), options);
      return ofUse(use, payload);
    } catch (error) {
      if (error instanceof AuthError) throw error;
      if (!(error instanceof errors.JWTExpired)) throw new AuthError('JWT_INVALID', 'signature');
      ofUse(use, error.payload);
      throw new AuthError('JWT_EXPIRED', 'expired');
    }
  }

  #keyOf(kid: string | undefined): KeyObject {
    const key = kid === undefined ? undefined : this.#options.keys.tokenKey(kid);
    if (key === undefined) throw new AuthError('JWT_INVALID', 'key');
    return key.publicKey;
  }
}

function ofUse(use: TokenUse, payload: JWTPayload): JWTPayload {
  if (payload.use !== use) throw new AuthError('JWT_INVALID', 'use');
  return payload;
}
