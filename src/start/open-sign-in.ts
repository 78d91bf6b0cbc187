import { OidcProvider } from '../auth/oidc/oidc-provider.ts';
import { createPendingSignIns } from '../auth/oidc/pending-sign-in.ts';
import { isMapped } from '../auth/oidc/role-mapping.ts';
import { SignIns } from '../auth/oidc/sign-in.ts';
import type { PortalSessions } from '../auth/portal/portal-session.ts';
import type { SignInErrorCode } from '../basics/errors.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { createConsoleCookie } from '../console/console-cookie.ts';
import type { ProviderParts } from '../console/routes/console-guard.ts';
import { createSignInRecorder } from '../console/store/sign-ins.ts';
import type { ProviderGrant } from '../payments/ports/review-ports.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { Config } from './config.ts';
import type { Report } from './opening.ts';

/**
 * Whether the settings of this process still give a person the role of an earlier sign-in: the operator may have removed
 * the provider, or the entry of the mapping. The whole issuers are compared: realms and tenants of one host have the same
 * origin.
 */
export function isStillGranted({ OIDC_ISSUER, OIDC_ROLES }: Config, grant: ProviderGrant): boolean {
  const isOfProvider = OIDC_ISSUER !== undefined && issuerOf(OIDC_ISSUER) === issuerOf(grant.issuer);
  return isOfProvider && isMapped(OIDC_ROLES, grant);
}

/** The setting may be the URL of the metadata (OpenID Connect Discovery 1.0, 4), and may lack the last slash. */
function issuerOf(url: string): string | undefined {
  return URL.parse(url)?.href.replace(/\/(?:\.well-known\/.*)?$/, '');
}

const OF_PEOPLE: ReadonlySet<SignInErrorCode> = new Set(['NO_ROLE', 'CANCELLED', 'NOT_BEGUN']);

export interface SignInParts {
  readonly config: Config;
  readonly database: Database;
  readonly keys: KeyRing;
  readonly sessions: PortalSessions;
  readonly report: Report;
  /** The listening address, if no public one is set. */
  readonly origin: () => string;
}

/**
 * Sign-in to the console with the OpenID provider of the settings; undefined without one. Nothing is asked of the
 * provider before a person signs in, so the gateway starts without it.
 */
export function openSignIn(parts: SignInParts): ProviderParts | undefined {
  const { config, database, keys, sessions, report, origin } = parts;
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  const isDev = config.TAPWIRE_ENV === 'dev';
  const provider = new OidcProvider({
    ...{ issuer, clientId, clientSecret: config.OIDC_CLIENT_SECRET, scopes: config.OIDC_SCOPES },
    ...{ roleClaim: config.OIDC_ROLE_CLAIM, roles: config.OIDC_ROLES, maxAgeSeconds: config.OIDC_MAX_AGE_SECONDS },
    allowsHttp: isDev,
  });
  const write = report('sign-in with the identity provider failed');
  return {
    signIns: new SignIns({
      ...{ provider, sessions, nowMs: Date.now },
      pending: createPendingSignIns(keys),
      record: createSignInRecorder(database),
      consoleUrl: () => config.CONSOLE_URL ?? config.BASE_URL ?? origin(),
    }),
    pending: createConsoleCookie(!isDev, 'sign-in'),
    // A person without a role, who turns back or takes too long is not a fault.
    onFailure: (error) => {
      if (!OF_PEOPLE.has(error.code)) write(error, { check: error.check });
    },
  };
}
