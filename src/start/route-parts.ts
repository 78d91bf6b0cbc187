import type { OwnTokens } from '../auth/tokens/own-tokens.ts';
import type { ReaderFormats } from '../kits/reader-kit/load-readers.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { ProcessorTypes } from '../payments/settings/check-routing.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { GuardedFetch } from '../webhooks/guarded-fetch.ts';
import type { Config } from './config.ts';
import type { LongestDeadlines } from './longest-deadlines.ts';
import type { Databases } from './open-databases.ts';
import type { Pushes } from './open-pushes.ts';
import type { Stores } from './open-stores.ts';
import type { Closers, Report } from './opening.ts';

export interface RouteParts {
  readonly config: Config;
  readonly database: Database;
  readonly databases: Databases;
  readonly stores: Stores;
  readonly types: ProcessorTypes;
  readonly formats: ReaderFormats;
  readonly ownTokens: OwnTokens;
  readonly deadlines: LongestDeadlines;
  readonly deps: TransactionDependencies;
  readonly fetcher: GuardedFetch;
  readonly pushes: Pushes;
  readonly closers: Closers;
  readonly report: Report;
  readonly metrics: Metrics;
}
