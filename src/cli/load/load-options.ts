import { closeSync, existsSync, openSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { LoadError } from '../../basics/errors.ts';
import { parseArrivals, parseCount, parseRate, parseSeconds } from '../../tools/load/arrival-plan.ts';
import { type LoadProfile, readLoadProfile } from '../../tools/load/load-profile.ts';
import type { LoadPlan } from '../../tools/load/load-run.ts';
import { defaultMix, readMix } from '../../tools/load/scenarios.ts';
import { parseThresholds, type Threshold } from '../../tools/load/thresholds.ts';
import { flag, readOptions, text, texts } from '../arguments.ts';
import { loadProfilePath } from '../demo/demo-installation.ts';

export const USAGE = `usage: tapwire load [options]                    run a load test against the gateway of npm start
       tapwire load compare A.json B.json [--tolerance 10%]
       tapwire load clean                        remove what tests have stored

  --rate NUMBER            calls per second (300)
  --duration TIME          60s, 1500ms, 2m (30s)
  --arrivals HOW           constant | poisson | ramp:from=10 | spike:times=5,at=20s,for=5s | steps:by=250,every=10s
                           (constant); steps continue until the gateway fails; append ,poisson for random intervals
  --mix FILE               JSON, scenarios by weight: {"approve": 90, "decline-51": 5, "pin": 3, "timeout": 1, "status": 1}
  --against URL            use another gateway than the profile's
  --against-prod --yes-really   both required if the environment is prod or unknown
  --profile FILE           credentials (.tapwire/load.json, which npm start writes)
  --connections NUMBER     kept open and shared (64); when all are busy, more are opened up to
  --most-connections NUMBER     (4096)
  --new-connections        open one for each request
  --phones NUMBER          phones, each with its own token, spread over the merchants (1000)
  --workers NUMBER         processes that send (a quarter of the cores)
  --response-within TIME     a call without a response by then counts as lost (60s)
  --seed NUMBER            the same seed makes the same calls at the same moments (1)
  --ledger URL             a ledger of simulated switches, once for each; requires
  --database URL           the gateway's database: both are compared at the end (those of the profile)
  --settle-within TIME     time for reversals to complete after the last call (60s)
  --json FILE              write the figures for tapwire load compare
  --report FILE            write a page with charts in one file
  --fail-if CONDITIONS     p99>50ms,errors>0.1%,lost>0,perSecond<900: exit code 1 if any holds

Exit code 1 when a condition of --fail-if holds, or the ledger check finds lost money; 2 when the test could not
be run.`;

const FLAGS = {
  rate: { ...text, default: '300' },
  duration: { ...text, default: '30s' },
  arrivals: { ...text, default: 'constant' },
  mix: text,
  against: text,
  'against-prod': flag,
  'yes-really': flag,
  profile: text,
  connections: { ...text, default: '64' },
  'most-connections': { ...text, default: '4096' },
  'new-connections': flag,
  phones: { ...text, default: '1000' },
  workers: text,
  'response-within': { ...text, default: '60s' },
  seed: { ...text, default: '1' },
  ledger: texts,
  database: text,
  'settle-within': { ...text, default: '60s' },
  json: text,
  report: text,
  'fail-if': text,
} as const;

type Values = ReturnType<typeof parse>;

/** A load test machine has at most this many cores; more processes would only wait for each other. */
const MAX_WORKERS = 64;
/** On a shared machine the gateway must get most of the cores. */
const CORES_PER_WORKER = 4;
/** Linux has 28,000 local ports from one address to one other. */
const MAX_CONNECTIONS = 20_000;
const MAX_PHONES = 100_000;
const MAX_SEED = 2 ** 31 - 1;
/** A gateway responds within its switch's deadline plus five seconds, so an hour is never needed. */
const MAX_RESPONSE_SECONDS = 3_600;

/** The options of the command line. */
export interface LoadOptions {
  readonly plan: LoadPlan;
  readonly arrivals: string;
  readonly perSecond: number;
  readonly thresholds: readonly Threshold[];
  readonly profile: LoadProfile;
  readonly settleWithinMs: number;
  readonly json: string | undefined;
  readonly report: string | undefined;
  /** Whether the load test may run against an installation whose environment is prod or unknown. */
  readonly isProdAllowed: boolean;
}

/**
 * Reads the command line, the profile and the mix.
 *
 * @throws LoadError BAD_OPTION, BAD_FILE; or the error for an unknown flag
 */
export function readLoadOptions(args: string[], environment: NodeJS.ProcessEnv): LoadOptions {
  const values = parse(args);
  const profile = profileOf(values, environment);
  const perSecond = parseRate(values.rate, '--rate');
  const seconds = parseSeconds(values.duration, '--duration');
  for (const name of ['json', 'report'] as const) checkWritable(values[name], `--${name}`);
  return {
    plan: {
      ...planOf(values, profile),
      arrivals: parseArrivals(values.arrivals, perSecond, seconds),
      seconds,
      mix: values.mix === undefined ? defaultMix(profile) : readMix(values.mix),
    },
    arrivals: values.arrivals,
    perSecond,
    thresholds: values['fail-if'] === undefined ? [] : parseThresholds(values['fail-if']),
    profile,
    settleWithinMs: parseSeconds(values['settle-within'], '--settle-within', MAX_RESPONSE_SECONDS) * 1_000,
    json: values.json,
    report: values.report,
    isProdAllowed: values['against-prod'] && values['yes-really'],
  };
}

function parse(args: string[]) {
  return readOptions(args, FLAGS);
}

function planOf(values: Values, profile: LoadProfile): Omit<LoadPlan, 'arrivals' | 'seconds' | 'mix'> {
  const kept = parseCount(values.connections, '--connections', 1, MAX_CONNECTIONS);
  const most = parseCount(values['most-connections'], '--most-connections', 1, MAX_CONNECTIONS);
  const responseWithin = parseSeconds(values['response-within'], '--response-within', MAX_RESPONSE_SECONDS);
  const { issuer, merchants, shortDeadlineTerminal, apiKey } = profile;
  return {
    url: profile.url,
    profile: { issuer, merchants, shortDeadlineTerminal, apiKey },
    seed: parseCount(values.seed, '--seed', 0, MAX_SEED),
    workers: workersOf(values.workers),
    phones: parseCount(values.phones, '--phones', 1, MAX_PHONES),
    connections: { kept, most: Math.max(kept, most), isNewEach: values['new-connections'] },
    responseWithinMs: responseWithin * 1_000,
  };
}

function workersOf(text: string | undefined): number {
  if (text !== undefined) return parseCount(text, '--workers', 1, MAX_WORKERS);
  return Math.min(MAX_WORKERS, Math.max(1, Math.floor(availableParallelism() / CORES_PER_WORKER)));
}

/** The profile, with the values that the command line overrides. */
function profileOf(values: Values, environment: NodeJS.ProcessEnv): LoadProfile {
  const profile = readLoadProfile(values.profile ?? loadProfilePath(environment.TAPWIRE_DATA ?? '.tapwire'));
  const url = values.against === undefined ? profile.url : httpUrl(values.against, '--against');
  // The profile's ledger, database and processes apply only to the profile's own installation.
  const own = url === profile.url ? profile : { ...profile, url, books: undefined, processes: undefined };
  if (values.ledger === undefined && values.database === undefined) return own;
  const ledgerUrls = values.ledger?.map((word) => httpUrl(word, '--ledger')) ?? own.books?.ledgerUrls;
  const databaseUrl = values.database ?? own.books?.databaseUrl;
  if (ledgerUrls === undefined) throw new LoadError('BAD_OPTION', '--database: needs --ledger to compare with');
  if (databaseUrl === undefined) throw new LoadError('BAD_OPTION', '--ledger: needs --database to compare with');
  return { ...own, books: { ledgerUrls, databaseUrl, since: own.books?.since ?? new Date().toISOString() } };
}

function httpUrl(word: string, where: string): string {
  const url = URL.canParse(word) ? new URL(word) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url && isHttp && url.username === '' && url.search === '' && url.hash === '') return url.href.replace(/\/$/, '');
  throw new LoadError('BAD_OPTION', `${where} ${word}: expected a URL such as https://gateway.example`);
}

/** Checked before the test, because the figures of an hour would be lost if they could not be written. */
function checkWritable(path: string | undefined, where: string): void {
  if (path === undefined) return;
  if (path === '' || !existsSync(dirname(path)))
    throw new LoadError('BAD_OPTION', `${where} ${path}: the folder does not exist`);
  try {
    closeSync(openSync(path, 'a'));
  } catch (cause) {
    throw new LoadError('BAD_OPTION', `${where} ${path}: ${describeSystemError(cause)}`, { cause });
  }
}
