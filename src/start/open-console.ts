import { createLoginCheck } from '../auth/portal/log-in.ts';
import { createMustEnrol } from '../auth/portal/must-enrol.ts';
import { PortalSessions } from '../auth/portal/portal-session.ts';
import { createSecondFactors } from '../auth/totp/second-factor.ts';
import { createCardVault } from '../card/card-vault.ts';
import { Accounts } from '../console/account.ts';
import { ConsoleActs } from '../console/acts.ts';
import { createConsoleCookie } from '../console/console-cookie.ts';
import { ConsoleFeed } from '../console/feed.ts';
import { FiguresRecorder } from '../console/figures-recorder.ts';
import { createHistoryReader } from '../console/history.ts';
import { ProcessReporter } from '../console/process-reporter.ts';
import { createConsoleBacklog } from '../console/read-backlog.ts';
import { createFiguresReader, type FiguresParts } from '../console/read-figures.ts';
import { registerConsoleRoutes } from '../console/routes/console.ts';
import type { MessageTables } from '../console/shown-messages.ts';
import {
  acquirersInSight,
  ownerOfTransaction,
  readConsoleNames,
  suggestMerchants,
} from '../console/store/console-names.ts';
import { postgresConsoleSessions } from '../console/store/console-sessions.ts';
import { TransactionLists } from '../console/store/transaction-list.ts';
import { TransactionBrowser } from '../console/transaction-browser.ts';
import { tellTransaction } from '../console/transaction-story.ts';
import { createWorkReader } from '../console/work-reader.ts';
import type { Server } from '../http/server.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { ReviewDependencies } from '../payments/review/resolve-review.ts';
import { postgresLoginTries } from '../store/credentials/login-tries.ts';
import { UserTotp } from '../store/credentials/user-totp.ts';
import { postgresUsers } from '../store/credentials/users.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { PostgresReviewStore } from '../store/transactions/review-store.ts';
import { PostgresWebhookEvents } from '../store/webhooks/webhook-events.ts';
import { CellWatch } from '../tools/cells/cell-watch.ts';
import { createCompletionCheck } from './completing-switches.ts';
import type { Config } from './config.ts';
import { loginFactors } from './login-factors.ts';
import type { Databases } from './open-databases.ts';
import { isStillGranted, openSignIn } from './open-sign-in.ts';
import type { Stores } from './open-stores.ts';
import type { Closers, Report } from './opening.ts';

/** Publishes the counters of this process to the consoles of all processes, and stores them for charts of the past. */
export function reportFigures(
  parts: Omit<FiguresParts, 'role' | 'cell' | 'databases'> & { readonly databases: Databases },
  config: Config,
  report: Report,
  closers: Closers,
): void {
  const read = createFiguresReader({ ...parts, role: config.TAPWIRE_ROLE, cell: config.CELL_NAME });
  const reporter = new ProcessReporter({ ...parts, database: parts.databases.reports, read });
  closers.push(() => reporter.stop());
  const onError = report('figures for the charts of the console could not be stored');
  const recorder = new FiguresRecorder({ database: parts.databases.reports, read, onError });
  closers.push(() => recorder.stop());
}

export interface ConsoleRouteParts {
  readonly deps: TransactionDependencies;
  readonly config: Config;
  readonly database: Database;
  readonly databases: Databases;
  readonly stores: Stores;
  readonly types: MessageTables['types'];
  readonly closers: Closers;
  readonly report: Report;
}

/** The console: its page, its data and the actions of operators. */
export function registerConsole(
  server: Server,
  { config, database, databases, stores, deps, types, closers, report }: ConsoleRouteParts,
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
  const reviews: ReviewDependencies = {
    ...deps,
    reviews: new PostgresReviewStore(database, jobs),
    needsTwo: config.RESOLUTION_NEEDS_TWO,
    isGranted: (grant) => isStillGranted(config, grant),
    wantsCompletion: createCompletionCheck(types, directory),
  };
  const sessions = new PortalSessions({
    ...{ sessions: postgresConsoleSessions(database), users },
    isGranted: (identity) => isStillGranted(config, identity),
    mustEnrol: createMustEnrol(config.CONSOLE_NEEDS_TOTP),
  });
  registerConsoleRoutes(server, {
    checkLogin,
    sessions,
    accounts: new Accounts({ database, checkLogin, factors, totp, tries, limits }),
    provider: openSignIn({ config, database, keys, sessions, report, origin: () => server.listeningOrigin }),
    cookie: createConsoleCookie(config.TAPWIRE_ENV !== 'dev'),
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
    feed,
    readCells: () => cells.report(),
    acts: new ConsoleActs({ database, jobs, webhooks, reviews, lists, deps }),
    deps,
    work: createWorkReader(reports, lists),
    history: createHistoryReader(lists),
  });
}
