import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { CredentialHeaders, FindPerson } from '../../auth/authenticator.ts';
import type { SignIns } from '../../auth/oidc/sign-in.ts';
import type { CheckLogin } from '../../auth/portal/log-in.ts';
import {
  CSRF_HEADER,
  checkToken,
  type PortalSession,
  type PortalSessions,
  type SessionOrigin,
  type SessionUse,
} from '../../auth/portal/portal-session.ts';
import { AuthError, type SignInError } from '../../basics/errors.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import type { Outcomes } from '../../payments/reversals/outcomes.ts';
import type { Accounts } from '../account.ts';
import type { ConsoleActs } from '../acts.ts';
import type { VerifyAudit } from '../audit-verdict.ts';
import type { ConsoleCookie } from '../console-cookie.ts';
import type { DependentSchema } from '../describe-operations.ts';
import type { ConsoleFeed } from '../feed.ts';
import type { ReadHistory } from '../history.ts';
import type { ConsoleNames, SuggestedMerchant } from '../store/console-names.ts';
import type { TransactionBrowser } from '../transaction-browser.ts';
import type { TransactionStory } from '../transaction-story.ts';
import type { ReadWork } from '../work-reader.ts';

/** Sign-in with the identity provider. */
export interface ProviderParts {
  readonly signIns: SignIns;
  /** Cookie of a sign-in that has begun. */
  readonly pending: ConsoleCookie;
  readonly onFailure: (error: SignInError) => void;
}

/** Dependencies of the console's routes. */
export interface ConsoleParts {
  /** `dev`, `qa` or `prod`. */
  readonly environment: string;
  readonly checkLogin: CheckLogin;
  readonly sessions: PortalSessions;
  readonly cookie: ConsoleCookie;
  readonly accounts: Accounts;
  /** Undefined if people sign in only with passwords. */
  readonly provider: ProviderParts | undefined;
  readonly transactions: TransactionBrowser;
  /** @param acquirerId undefined for all acquirers */
  readonly tell: (acquirerId: number | undefined, id: string) => Promise<TransactionStory | undefined>;
  readonly names: (acquirerId: number | undefined) => Promise<ConsoleNames>;
  readonly suggestMerchants: (acquirerId: number | undefined, text: string) => Promise<SuggestedMerchant[]>;
  /** The field tables of the installed processor types. */
  readonly specs: readonly Spec[];
  /** The schemas of the settings of processor types and reader formats. */
  readonly dependentSchemas: readonly DependentSchema[];
  readonly feed: ConsoleFeed;
  readonly acts: ConsoleActs;
  readonly outcomes: Outcomes;
  readonly work: ReadWork;
  readonly history: ReadHistory;
  readonly verifyAudit: VerifyAudit;
  /** The state of the cells, for operators of the installation. */
  readonly readCells: () => Promise<object>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The user at the console; set by the route's `onRequest`. */
    operator?: PortalSession;
  }
}

type Guard = onRequestAsyncHookHandler;

/** How people at the console are found. */
export type People = Pick<ConsoleParts, 'sessions' | 'cookie'>;

/**
 * Finds the person who acts by a request, also for the operations of the admin API. The session must be in use, and the
 * request must come from the page and repeat the session's token.
 */
export function createFindPerson({ sessions, cookie }: People): FindPerson {
  return async (headers) => {
    refuseOtherSites({ headers });
    const session = await sessions.find(cookie.read({ headers }), 'act');
    if (session.mustEnrol) throw new AuthError('FORBIDDEN', 'second factor');
    checkToken(session, headers[CSRF_HEADER]);
    return session;
  };
}

/**
 * Guards of the routes: for figures that the page requests automatically (polling), for reads by a person, for automatic
 * updates of what the person reads (following), and for actions by a person. All but those of the own account refuse a
 * person who must set up a second factor first.
 */
export function consoleGuards({ sessions, cookie }: People) {
  const findPerson = createFindPerson({ sessions, cookie });
  const find = (request: FastifyRequest, use: SessionUse) => sessions.find(cookie.read(request), use);
  const findComplete = async (request: FastifyRequest, use: SessionUse) => {
    const session = await find(request, use);
    if (session.mustEnrol) throw new AuthError('FORBIDDEN', 'second factor');
    return session;
  };
  const forPolling: Guard = async (request) => {
    request.operator = await findComplete(request, 'watch');
  };
  const forReading: Guard = async (request) => {
    refuseOtherSites(request);
    request.operator = await findComplete(request, 'act');
  };
  const forFollowing: Guard = async (request) => {
    refuseOtherSites(request);
    request.operator = await findComplete(request, 'follow');
  };
  const forActing: Guard = async (request) => {
    request.operator = await findPerson(request.headers);
    if (!request.operator.mayAct) throw new AuthError('FORBIDDEN', 'role');
  };
  const forOwnPolling: Guard = async (request) => {
    request.operator = await find(request, 'watch');
  };
  const forOwnReading: Guard = async (request) => {
    refuseOtherSites(request);
    request.operator = await find(request, 'act');
  };
  const forOwnActing: Guard = async (request) => {
    refuseOtherSites(request);
    request.operator = await find(request, 'act');
    checkToken(request.operator, request.headers[CSRF_HEADER]);
  };
  return { forPolling, forReading, forFollowing, forActing, forOwnPolling, forOwnReading, forOwnActing };
}

/** Where a session begins. */
export function originOf({ ip, headers }: FastifyRequest): SessionOrigin {
  return { address: ip, agent: (headers['user-agent'] ?? '').replace(/[^\x20-\x7e]/g, '') };
}

/** Browsers report where a request started (Fetch Metadata). The cookie's SameSite covers browsers that do not. */
export function refuseOtherSites({ headers }: { readonly headers: CredentialHeaders }): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw new AuthError('FORBIDDEN', 'site');
}
