import { isMapped, OidcProvider } from '../auth/oidc/oidc-provider.ts';
import { createPendingSignIns } from '../auth/oidc/pending-sign-in.ts';
import { SignIns } from '../auth/oidc/sign-in.ts';
import { createLoginCheck } from '../auth/portal/log-in.ts';
import { PortalSessions } from '../auth/portal/portal-session.ts';
import { createMustEnrol } from '../auth/portal/portal-user.ts';
import { createSecondFactors } from '../auth/totp/second-factor.ts';
import type { SignInErrorCode } from '../basics/errors.ts';
import { createCardVault } from '../card/card-vault.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { Accounts } from '../console/account.ts';
import { ConsoleActs } from '../console/acts.ts';
import { createAuditVerifier } from '../console/audit-verdict.ts';
import { createConsoleCookie } from '../console/console-cookie.ts';
import { ConsoleFeed } from '../console/feed.ts';
import { FiguresRecorder, ProcessReporter } from '../console/figures-recorder.ts';
import { createHistoryReader } from '../console/history.ts';
import { createConsoleBacklog } from '../console/read-backlog.ts';
import { createFiguresReader, type FiguresParts } from '../console/read-figures.ts';
import { registerConsoleRoutes } from '../console/routes/console.ts';
import type { People, ProviderParts } from '../console/routes/console-guard.ts';
import {
  acquirersInSight,
  ownerOfTransaction,
  readConsoleNames,
  suggestMerchants,
} from '../console/store/console-names.ts';
import { createSignInRecorder, postgresConsoleSessions } from '../console/store/console-sessions.ts';
import { TransactionLists } from '../console/store/transaction-list.ts';
import { TransactionBrowser } from '../console/transaction-browser.ts';
import { type MessageTables, tellTransaction } from '../console/transaction-story.ts';
import { createWorkReader } from '../console/work-reader.ts';
import type { Server } from '../http/server.ts';
import { ChangedLevel } from '../observe/log.ts';
import type { ProviderGrant } from '../payments/ports/store-ports.ts';
import { Reviews } from '../payments/review/reviews.ts';
import { UserTotp } from '../store/credentials/user-totp.ts';
import { postgresLoginTries, postgresUsers } from '../store/credentials/users.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { PostgresReviewStore } from '../store/transactions/review-store.ts';
import { PostgresWebhookEvents } from '../store/webhooks/webhook-events.ts';
import { CellWatch } from '../tools/cells/cell-status.ts';
import type { Config } from './config.ts';
import type { Databases } from './open-stores.ts';
import { createCompletionCheck } from './open-switches.ts';
import type { Opening, Report } from './opening.ts';
import { loginFactors, type RouteParts } from './register-routes.ts';

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

/**
 * Sign-in to the console with the OpenID provider of the settings; undefined without one. Nothing is asked of the
 * provider before a person signs in, so the gateway starts without it.
 */
function openSignIn({
  config,
  database,
  keys,
  sessions,
  report,
  origin,
}: {
  readonly config: Config;
  readonly database: Database;
  readonly keys: KeyRing;
  readonly sessions: PortalSessions;
  readonly report: Report;
  /** The listening address, if no public one is set. */
  readonly origin: () => string;
}): ProviderParts | undefined {
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

/** Publishes the counters of this process to the consoles of all processes, and stores them for charts of the past. */
export function reportFigures(
  { config, report, log, closers }: Opening,
  parts: Omit<FiguresParts, 'role' | 'cell' | 'databases'> & { readonly databases: Databases },
): void {
  const logLevel = new ChangedLevel(log);
  const read = createFiguresReader({ ...parts, role: config.TAPWIRE_ROLE, cell: config.CELL_NAME });
  const reporter = new ProcessReporter({ ...parts, database: parts.databases.reports, read, logLevel });
  closers.push(() => reporter.stop());
  const onError = report('figures for the charts of the console could not be stored');
  const recorder = new FiguresRecorder({ database: parts.databases.reports, read, onError });
  closers.push(() => recorder.stop());
}

/** The sessions of people at the console, who administer by them, too. */
export function openPeople({ config, database }: Pick<RouteParts, 'config' | 'database'>): People {
  const sessions = new PortalSessions({
    ...{ sessions: postgresConsoleSessions(database), users: postgresUsers(database) },
    isGranted: (identity) => isStillGranted(config, identity),
    mustEnrol: createMustEnrol(config.CONSOLE_NEEDS_TOTP),
  });
  return { sessions, cookie: createConsoleCookie(config.TAPWIRE_ENV !== 'dev') };
}

/** The console: its page, its data and the actions of operators. */
export function registerConsole(
  server: Server,
  { config, database, databases, stores, deps, useCases, types, formats, closers, report }: RouteParts,
  { sessions, cookie }: People,
): void {
  const { keys, jobs, directory, store: transactions } = stores;
  const { reports } = databases;
  const users = postgresUsers(database);
  const cells = new CellWatch(config.CELLS_FILE);
  const webhooks = new PostgresWebhookEvents(database, jobs);
  const tables: MessageTables = { types, processors: () => directory.processors() };
  const feed = new ConsoleFeed({ database: reports, readBacklog: createConsoleBacklog(reports) });
  closers.push(() => feed.close());
  const { LOGIN_TRIES_PER_USER: perUser, LOGIN_TRIES_PER_ADDRESS: perAddress, LOGIN_WINDOW_MINUTES } = config;
  const limits = { perUser, perAddress, windowSeconds: LOGIN_WINDOW_MINUTES * 60 };
  const tries = postgresLoginTries(database);
  const factors = createSecondFactors(keys, () => Date.now());
  const totp = new UserTotp(database);
  const checkLogin = createLoginCheck({ logins: users, factors: loginFactors(factors, totp), tries, limits });
  const lists = new TransactionLists(reports);
  const reviews = new Reviews(deps, {
    reviews: new PostgresReviewStore(database, jobs),
    needsTwo: config.RESOLUTION_NEEDS_TWO,
    isGranted: (grant) => isStillGranted(config, grant),
    wantsCompletion: createCompletionCheck(types, directory),
  });
  registerConsoleRoutes(server, {
    environment: config.TAPWIRE_ENV,
    checkLogin,
    sessions,
    accounts: new Accounts({ database, checkLogin, factors, totp, tries, limits }),
    provider: openSignIn({ config, database, keys, sessions, report, origin: () => server.listeningOrigin }),
    cookie,
    transactions: new TransactionBrowser({
      ...{ database, reports, directory, lists },
      panHashes: createCardVault(keys).panHashes,
    }),
    tell: async (own, id) => {
      const acquirerIds = own === undefined ? await acquirersInSight(reports) : [own];
      const acquirerId = await ownerOfTransaction(database, acquirerIds, id);
      if (acquirerId === undefined) return undefined;
      return tellTransaction({ database, transactions, directory, webhooks, tables }, { acquirerId, id });
    },
    names: (own) => readConsoleNames(reports, own),
    suggestMerchants: (own, text) => suggestMerchants(reports, own, text),
    specs: [...types].map(([name, { spec }]) => ({ ...spec, name })),
    dependentSchemas: [
      { property: 'config', by: 'type', schemas: new Map([...types].map(([name, each]) => [name, each.configSchema])) },
      {
        ...{ property: 'settings', by: 'format' },
        schemas: new Map([...formats].map(([name, each]) => [name, each.settingsSchema])),
      },
    ],
    feed,
    readCells: () => cells.report(),
    acts: new ConsoleActs({ database, jobs, webhooks, reviews, lists, transactions, useCases }),
    outcomes: useCases.outcomes,
    work: createWorkReader(reports, lists),
    history: createHistoryReader(lists),
    verifyAudit: createAuditVerifier(reports),
  });
}
