import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { CheckLogin } from '../../auth/portal/log-in.ts';
import { checkAct, type PortalSession, type PortalSessions } from '../../auth/portal/portal-session.ts';
import { AuthError } from '../../errors.ts';
import type { ConsoleActs } from '../../ops/console/acts.ts';
import type { ConsoleFeed } from '../../ops/console/feed.ts';
import type { TransactionStory } from '../../ops/console/transaction-story.ts';
import type { SearchTransactions } from '../../store/console/console-search.ts';
import type { TransactionKey } from '../../transactions/model/transaction.ts';
import type { ConsoleCookie } from '../console-cookie.ts';

/** Dependencies of the console's routes. */
export interface ConsoleParts {
  readonly checkLogin: CheckLogin;
  readonly sessions: PortalSessions;
  readonly cookie: ConsoleCookie;
  readonly panHashes: (pan: string) => readonly string[];
  readonly search: SearchTransactions;
  readonly tell: (key: TransactionKey) => Promise<TransactionStory | undefined>;
  readonly feed: ConsoleFeed;
  readonly acts: ConsoleActs;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The user at the console; set by the route's `onRequest`. */
    operator?: PortalSession;
  }
}

type Guard = onRequestAsyncHookHandler;
const CSRF_HEADER = 'x-csrf-token';

/** Guards for requests that the page makes automatically, for reads by a person, and for actions by a person. */
export function consoleGuards({ sessions, cookie }: Pick<ConsoleParts, 'sessions' | 'cookie'>) {
  const find = (request: FastifyRequest, isAct: boolean) => sessions.find(cookie.read(request), isAct);
  const watches: Guard = async (request) => {
    request.operator = await find(request, false);
  };
  const looks: Guard = async (request) => {
    refuseOtherSites(request);
    request.operator = await find(request, true);
  };
  const acts: Guard = async (request) => {
    refuseOtherSites(request);
    request.operator = await find(request, true);
    checkAct(request.operator, request.headers[CSRF_HEADER]);
  };
  return { watches, looks, acts };
}

/** Browsers report where a request started (Fetch Metadata). The cookie's SameSite covers browsers that do not. */
export function refuseOtherSites({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw new AuthError('FORBIDDEN', 'site');
}
