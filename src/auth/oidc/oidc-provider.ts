import { hash } from 'node:crypto';
import * as oidc from 'openid-client';
import { AuthorizationResponseError, ClientError, type CustomFetch, ResponseBodyError } from 'openid-client';
import { SignInError } from '../../basics/errors.ts';
import { INSTALLATION_OWNER, type PortalUser, ROLE_SCOPES, type Role } from '../portal/portal-user.ts';
import type { PendingSignIn } from './pending-sign-in.ts';

/** Limit of one exchange with a provider. The longest sign-in has four, within the 30 s of any request. */
const PROVIDER_TIMEOUT_MS = 5_000;
/** Discovery documents and key sets have a few kilobytes. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/**
 * `fetch` with a limit of time, which includes the body, and of bytes. Redirects are not followed, because the client
 * secret would follow them.
 *
 * @throws SignInError PROVIDER_UNAVAILABLE without a complete response
 */
export const limitedFetch: CustomFetch = async (url, options) => {
  const { headers, method, body } = options;
  const signal = AbortSignal.timeout(PROVIDER_TIMEOUT_MS);
  const request = { headers, method, body: body ?? null, redirect: 'manual', signal } as RequestInit;
  try {
    const response = await fetch(url, request);
    const content = await readLimited(response);
    return new Response(content.length > 0 ? content : null, { status: response.status, headers: response.headers });
  } catch (error) {
    throw new SignInError('PROVIDER_UNAVAILABLE', reasonOf(error), { cause: error });
  }
};

/** The code of a socket is in the cause of fetch's error. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: unknown; readonly cause?: { readonly code?: unknown } };
  return String(cause?.code ?? name);
}

async function readLimited({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw new RangeError('The response of the identity provider is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Codes of openid-client for responses that never came, or are none of a provider. */
const UNAVAILABLE = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);
/** Errors in the callback that a person or the provider's policy caused (OpenID Connect Core 1.0, 3.1.2.6). */
const CANCELLED = new Set(['access_denied', 'login_required', 'interaction_required', 'consent_required']);
/** Errors of the token endpoint for a code that was used, or belongs to another sign-in (RFC 6749 5.2). */
const OF_CODE = new Set(['invalid_grant']);
const ERROR_NAME = /^[\w-]{1,64}$/;

/** What a failed exchange with the provider means. Texts of the provider are not repeated. */
function toSignInError(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  // openid-client wraps errors of fetch.
  if (error instanceof Error && error.cause instanceof SignInError) return error.cause;
  const options = { cause: error };
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const name = ERROR_NAME.test(error.error) ? error.error : 'unnamed error';
    if (CANCELLED.has(name)) return new SignInError('CANCELLED', name, options);
    return new SignInError(OF_CODE.has(name) ? 'INVALID' : 'PROVIDER_REFUSED', name, options);
  }
  if (error instanceof ClientError) {
    const code = error.code ?? 'unnamed error';
    return new SignInError(UNAVAILABLE.has(code) ? 'PROVIDER_UNAVAILABLE' : 'INVALID', code, options);
  }
  return new SignInError('INVALID', 'malformed callback', options);
}

/** Endpoints and algorithms of a provider change rarely. A restart of the gateway reads them at once. */
const CONFIGURATION_FRESH_MS = 60 * 60_000;
const MAX_NAME_CHARS = 100;

/**
 * The client of an OpenID provider: authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0, 3.1;
 * RFC 9700). openid-client checks issuer, audience, nonce, times and `auth_time` of the ID token. Its signature is always
 * verified, so algorithm `none` is refused.
 */
export class OidcProvider {
  readonly #options;
  readonly #monotonicMs: () => number;
  #known: { readonly configuration: oidc.Configuration; readonly atMs: number } | undefined;
  #reading: Promise<oidc.Configuration> | undefined;

  constructor(options: {
    readonly issuer: string;
    readonly clientId: string;
    /** Undefined for a public client, which has only PKCE. */
    readonly clientSecret: string | undefined;
    readonly scopes: string;
    readonly roleClaim: string;
    readonly roles: readonly MappedRole[];
    /** The person must have authenticated at the provider within this time; 0 accepts any time. */
    readonly maxAgeSeconds: number;
    /** Only in dev: a provider over HTTP. */
    readonly allowsHttp: boolean;
    readonly monotonicMs?: (() => number) | undefined;
  }) {
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  /**
   * Where the browser continues.
   *
   * @throws SignInError PROVIDER_UNAVAILABLE
   */
  async startUrl({ state, nonce, verifier }: PendingSignIn, redirectUrl: string): Promise<string> {
    const configuration = await this.#configuration();
    const { scopes, maxAgeSeconds } = this.#options;
    const parameters = {
      redirect_uri: redirectUrl,
      scope: scopes,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(maxAgeSeconds > 0 && { max_age: String(maxAgeSeconds) }),
    };
    return oidc.buildAuthorizationUrl(configuration, parameters).href;
  }

  /**
   * The person of the code in a callback.
   *
   * @param callback the redirect URL with the parameters that came
   * @throws SignInError
   */
  async finish({ state, nonce, verifier }: PendingSignIn, callback: URL): Promise<ProviderIdentity> {
    const configuration = await this.#configuration();
    const { maxAgeSeconds } = this.#options;
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
        ...(maxAgeSeconds > 0 && { maxAge: maxAgeSeconds }),
      });
      const claims = tokens.claims()!;
      return this.#identityOf(claims, await this.#allClaims(configuration, tokens.access_token, claims));
    } catch (error) {
      throw toSignInError(error);
    }
  }

  /** Where a person ends the session at the provider, too; undefined if it has no such page, or is unavailable. */
  async endUrl(returnUrl: string): Promise<string | undefined> {
    const configuration = await this.#configuration().catch(() => undefined);
    if (configuration?.serverMetadata().end_session_endpoint === undefined) return undefined;
    return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnUrl }).href;
  }

  /** Many providers give roles and names only at the userinfo endpoint. Its subject must be that of the ID token. */
  async #allClaims(configuration: oidc.Configuration, accessToken: string, claims: oidc.IDToken): Promise<object> {
    const isComplete = valuesOfClaim(claims, this.#options.roleClaim).length > 0;
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...(await oidc.fetchUserInfo(configuration, accessToken, claims.sub)), ...claims };
  }

  #identityOf({ iss: issuer, sub: subject }: oidc.IDToken, claims: object): ProviderIdentity {
    if (!isRecordable({ issuer, subject })) throw new SignInError('BAD_SUBJECT');
    const { roles, roleClaim } = this.#options;
    const mapped = roleFor(roles, valuesOfClaim(claims, roleClaim));
    if (mapped === undefined) throw new SignInError('NO_ROLE');
    const { role, acquirerId } = mapped;
    return { issuer, subject, name: nameIn(claims) ?? subject, role, acquirerId };
  }

  async #configuration(): Promise<oidc.Configuration> {
    const known = this.#known;
    if (known !== undefined && this.#monotonicMs() - known.atMs < CONFIGURATION_FRESH_MS) return known.configuration;
    this.#reading ??= this.#discover().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret, allowsHttp } = this.#options;
    const execute = allowsHttp ? [oidc.allowInsecureRequests] : [];
    const options = { timeout: PROVIDER_TIMEOUT_MS / 1_000, [oidc.customFetch]: limitedFetch, execute };
    try {
      const found = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), options);
      const metadata = found.serverMetadata();
      const configuration = new oidc.Configuration(
        metadata,
        clientId,
        undefined,
        authentication(metadata, clientSecret),
      );
      configuration.timeout = PROVIDER_TIMEOUT_MS / 1_000;
      configuration[oidc.customFetch] = limitedFetch;
      if (allowsHttp) oidc.allowInsecureRequests(configuration);
      oidc.enableNonRepudiationChecks(configuration);
      this.#known = { configuration, atMs: this.#monotonicMs() };
      return configuration;
    } catch (error) {
      throw new SignInError('PROVIDER_UNAVAILABLE', toSignInError(error).check, { cause: error });
    }
  }
}

/** OpenID Connect Discovery 1.0, 3: a provider that names no method accepts client_secret_basic. */
function authentication(metadata: oidc.ServerMetadata, secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? oidc.ClientSecretBasic(secret) : oidc.ClientSecretPost(secret);
}

/** Without characters that are not shown, or change the direction of text. */
function nameIn(claims: { preferred_username?: unknown; email?: unknown }): string | undefined {
  const given = [claims.preferred_username, claims.email].find((name) => typeof name === 'string' && name !== '');
  const shown = String(given ?? '')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, MAX_NAME_CHARS)
    .trim();
  return shown === '' ? undefined : shown;
}

/** A person whom the identity provider has authenticated, with the role of this sign-in. */
export interface ProviderIdentity extends Pick<MappedRole, 'role' | 'acquirerId'> {
  readonly issuer: string;
  readonly subject: string;
  /** For display only: the provider, or the person, can change it. */
  readonly name: string;
}

/** The limit of the author in admin events. */
const MAX_ACTOR_CHARS = 255;
/** OpenID Connect Core 1.0, 2: at most 255 ASCII characters. A space would make the record ambiguous. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/;

/**
 * The author as the audit trail names a person of the provider. The issuer is a URL, so it contains no space, and no
 * password user is recorded with this first word.
 */
export function actorOfIdentity({ issuer, subject }: Pick<ProviderIdentity, 'issuer' | 'subject'>): string {
  return `oidc ${issuer} ${subject}`;
}

/** Whether the person can be named in the audit trail in full. */
function isRecordable(identity: Pick<ProviderIdentity, 'issuer' | 'subject'>): boolean {
  return SUBJECT.test(identity.subject) && actorOfIdentity(identity).length <= MAX_ACTOR_CHARS;
}

/**
 * The id of a person of the provider, where ids of users are UUIDs: always the same for an issuer and subject (RFC 9562
 * 5.8). Names play no part, so no person gets the id of another by a name.
 */
export function idOfIdentity({ issuer, subject }: Pick<ProviderIdentity, 'issuer' | 'subject'>): string {
  const bytes = hash('sha256', JSON.stringify([issuer, subject]), 'buffer').subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The person as a user of the console, for one session. The provider decides who is blocked. */
export function userOfIdentity({ issuer, subject, name, role, acquirerId }: ProviderIdentity): PortalUser {
  return {
    id: idOfIdentity({ issuer, subject }),
    username: name,
    owner: { acquirerId },
    role,
    permissions: [],
    isBlocked: false,
    passwordChangedAtMs: 0,
    hasSecondFactor: false,
    provider: { issuer, subject },
  };
}

/** What a value of the role claim gives: a role in the console for one acquirer, or for the installation. */
export interface MappedRole {
  /** A value of the claim, such as the name of a group. */
  readonly value: string;
  readonly role: Role;
  /** 0 for the installation. */
  readonly acquirerId: number;
}

const MAX_ACQUIRER_ID = 2_147_483_647;
/** The value may contain `=` and `@`; the role and the acquirer cannot. */
const ENTRY = /^(.{1,255})=(\w+)(?:@([1-9]\d{0,9}))?$/;

/** @param entry `VALUE=ROLE` or `VALUE=ROLE@ACQUIRER`. @returns undefined if it is neither */
export function readMappedRole(entry: string): MappedRole | undefined {
  const [, value, role, acquirer = String(INSTALLATION_OWNER)] = ENTRY.exec(entry) ?? [];
  const acquirerId = Number(acquirer);
  if (value === undefined || !isRole(role) || acquirerId > MAX_ACQUIRER_ID) return undefined;
  return { value, role, acquirerId };
}

/** Whether any entry gives this role. */
export function isMapped(
  mapping: readonly MappedRole[],
  { role, acquirerId }: { readonly role: string; readonly acquirerId: number },
): boolean {
  return mapping.some((each) => each.role === role && each.acquirerId === acquirerId);
}

function isRole(text: string | undefined): text is Role {
  return text !== undefined && Object.hasOwn(ROLE_SCOPES, text);
}

/**
 * The values of a claim: of one with this name, or else of one inside others (`realm_access.roles`). A single text is one
 * value. Anything else gives no values.
 */
function valuesOfClaim(claims: object, name: string): readonly string[] {
  const own = memberOf(claims, name) ?? name.split('.').reduce<unknown>(memberOf, claims);
  const values = Array.isArray(own) ? own : [own];
  return values.filter((value) => typeof value === 'string');
}

function memberOf(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
  return (holder as Record<string, unknown>)[name];
}

/** The first entry of the mapping that a person has, because the operator decides the order. Values are case-sensitive. */
export function roleFor(mapping: readonly MappedRole[], values: readonly string[]): MappedRole | undefined {
  return mapping.find(({ value }) => values.includes(value));
}
