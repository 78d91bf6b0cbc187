import { afterAll, afterEach, expect } from 'vitest';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import type { SwitchStats } from '../../src/switching/switches/acquirer-switch.ts';
import { eventually } from './eventually.ts';
import { type Installation, type InstallationOptions, startInstallation, untilSignedOn } from './installation.ts';
import { expectSoundStates } from './invariants.ts';
import { type ReceivedRequest, ScriptedSwitch, type ScriptedSwitchOptions } from './scripted-switch.ts';
import { type TapInVain, tapInVain } from './tap-in-vain.ts';
import {
  jobsOf,
  type LiveJob,
  letTimePass,
  type StoredTransaction,
  storedTransaction,
  trailOf,
} from './transactions.ts';

export interface ScriptedOptions extends InstallationOptions {
  /** Both acquirers have a processor at the switch; otherwise only the first. */
  readonly hasBothAcquirers?: boolean;
}

/** The response of a switch that does not do what the request asks. */
export const withCode = (responseCode: string) => ({ responseCode, authorizationCode: undefined });

/** Longer than the second delay of the schedule of reversals: they follow after 5 s, then 30 s. */
const A_WHILE_SECONDS = 60;

/**
 * Installations connected to a scripted switch. The tests of the file that calls this share one, unless a test needs
 * its own; `install` or `installOwn` begins each test. A test finds a switch that approves everything and has received
 * nothing, and no transaction of another test. After each test no transaction may be in a state that must not rest
 * without a job.
 */
export function scriptedInstallation(
  usual: ScriptedOptions = {},
  ofSwitch?: () => Promise<ScriptedSwitchOptions>,
): ScriptedInstallation {
  const scene = new ScriptedInstallation(usual, ofSwitch);
  afterEach(() => scene.endTest());
  afterAll(() => scene.close());
  return scene;
}

interface Opened {
  readonly scripted: ScriptedSwitch;
  readonly installation: Installation;
}

/** What a transaction leaves in the database besides its audit trail, which cannot be removed. */
const LEFT_BY_TRANSACTIONS = [
  'open_attempts',
  'review_resolutions',
  'transaction_notes',
  'stored_figures',
  'reversal_attempts',
  'superseded_attempts',
  'late_responses',
  'attempt_messages',
  'webhook_attempts',
  'webhook_events',
  'transactions',
];

export class ScriptedInstallation {
  readonly #usual: ScriptedOptions;
  readonly #ofSwitch: () => Promise<ScriptedSwitchOptions>;
  #shared: Opened | undefined;
  #current: Opened | undefined;
  /** The counters of the shared installation when the test began. */
  #before: SwitchCounters | undefined;

  constructor(usual: ScriptedOptions, ofSwitch: () => Promise<ScriptedSwitchOptions> = async () => ({})) {
    this.#usual = { profile: { deadlineMs: 1_000 }, ...usual };
    this.#ofSwitch = ofSwitch;
  }

  get scripted(): ScriptedSwitch {
    return this.#current!.scripted;
  }

  get installation(): Installation {
    return this.#current!.installation;
  }

  /** The installation that the tests of this file share. A test that stops or adds a gateway needs its own. */
  async install(): Promise<void> {
    this.#shared ??= await this.#open(this.#usual);
    this.#current = this.#shared;
    await eventually(() => untilSignedOn(this.installation.url));
    this.#before = countersOf(await this.installation.switchStats());
  }

  /** An installation for this test alone. Role `none` starts no gateway. */
  async installOwn(options: ScriptedOptions = {}): Promise<void> {
    this.#current = await this.#open({ ...this.#usual, ...options });
    this.#before = undefined;
  }

  async endTest(): Promise<void> {
    const ended = this.#current;
    this.#current = undefined;
    if (!ended) return;
    try {
      await expectSoundStates(ended.installation.database);
    } finally {
      // A test that failed must not fail the next ones.
      await (ended === this.#shared ? forget(ended) : closeOpened(ended));
    }
  }

  async close(): Promise<void> {
    if (this.#shared) await closeOpened(this.#shared);
  }

  async #open({ role = 'all', hasBothAcquirers = false, ...rest }: ScriptedOptions): Promise<Opened> {
    const scripted = await ScriptedSwitch.open(await this.#ofSwitch());
    const connectTo = async () => scripted.port;
    const installation = await startInstallation({ connectTo, ...rest, role: 'none' });
    for (const table of hasBothAcquirers ? [] : ['routes', 'processors'])
      await installation.database.query(`delete from ${table} where acquirer_id = 2`);
    if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
    return { scripted, installation };
  }

  /** What the gateway's connections have counted since the test began. */
  async counters(): Promise<SwitchCounters> {
    const now = countersOf(await this.installation.switchStats());
    const before = this.#before;
    return before ? eachCounter((name) => now[name] - before[name]) : now;
  }

  tapInVain(): Promise<TapInVain> {
    return tapInVain(this.installation, this.scripted);
  }

  stored(id: string): Promise<StoredTransaction> {
    return storedTransaction(this.installation.database, id);
  }

  letTimePass(id: string, seconds: number): Promise<void> {
    return letTimePass(this.installation.database, id, seconds);
  }

  /** The entries of the trail about the reversal and late responses. */
  async afterwards(id: string): Promise<string[]> {
    return (await trailOf(this.installation.database, id)).filter((entry) => /^(reversal|late)/.test(entry));
  }

  untilReversal(id: string, state: keyof typeof ReversalState, attempt?: number): Promise<StoredTransaction> {
    return eventually(async () => {
      const stored = await this.stored(id);
      expect(stored.reversalState).toBe(ReversalState[state]);
      if (attempt !== undefined) expect(stored.reversalAttempt).toBe(attempt);
      return stored;
    });
  }

  /** The live jobs of a queue that name the transaction. */
  async jobs(id: string, queue: string): Promise<LiveJob[]> {
    return (await jobsOf(this.installation.database, id)).filter((job) => job.queue === queue);
  }

  /** Waits until no job is left that would move the transaction on. */
  untilAtRest(id: string): Promise<void> {
    return eventually(async () => expect(await jobsOf(this.installation.database, id)).toEqual([]));
  }

  /** Waits until `count` requests have had no response in time: the sale and its reversals. */
  untilTimedOut(count: number): Promise<void> {
    return eventually(async () => expect((await this.counters()).timedOut).toBe(count));
  }

  /** The next repeat of a reversal, after the previous attempt received a response or has timed out. */
  nextRepeat(id: string): Promise<ReceivedRequest> {
    return eventually(async () => {
      await this.letTimePass(id, A_WHILE_SECONDS);
      return this.scripted.take('0421');
    });
  }

  async respond(mti: string, responseCode: string): Promise<void> {
    (await this.scripted.next(mti)).respond(withCode(responseCode));
  }

  /** Seconds that the job of an attempt waits, from its commit on. */
  async secondsToAttempt(number: number, id: string): Promise<number> {
    const job = (await jobsOf(this.installation.database, id)).find(({ data }) => data.reversalAttempt === number);
    return job!.waitsSeconds;
  }
}

const COUNTERS = ['responded', 'timedOut', 'late', 'duplicates', 'unknown', 'dropped'] as const;

/** Requests with and without a response, and the responses for which no request waited. */
export type SwitchCounters = Readonly<Record<(typeof COUNTERS)[number], number>>;

function countersOf({ responded, timedOut, unmatchedResponses }: SwitchStats): SwitchCounters {
  return { responded, timedOut, ...unmatchedResponses };
}

function eachCounter(count: (name: keyof SwitchCounters) => number): SwitchCounters {
  return Object.fromEntries(COUNTERS.map((name) => [name, count(name)])) as SwitchCounters;
}

/** Waits until nothing of the test is in progress, and removes what it has left. */
async function forget({ scripted, installation }: Opened): Promise<void> {
  const { database, logLines } = installation;
  scripted.hold();
  await eventually(async () => {
    await database.query(`delete from pgboss.job where name <> 'purge' and state <> 'active'`);
    const { rowCount } = await database.query(`select from pgboss.job where state = 'active'`);
    const { inFlight } = await installation.switchStats();
    expect({ active: rowCount, inFlight }).toEqual({ active: 0, inFlight: 0 });
  });
  for (const table of LEFT_BY_TRANSACTIONS) await database.query(`delete from ${table}`);
  await database.query(`delete from pgboss.job where name <> 'purge'`);
  scripted.forget();
  logLines.length = 0;
}

async function closeOpened({ installation, scripted }: Opened): Promise<void> {
  await installation.stop();
  await scripted.close();
}
