import { afterEach, beforeEach, expect } from 'vitest';
import { ReversalState } from '../../src/transactions/model/transaction.ts';
import { eventually } from './eventually.ts';
import { type Installation, type InstallationOptions, startInstallation } from './installation.ts';
import { expectSoundStates } from './invariants.ts';
import { type ReceivedRequest, ScriptedSwitch, type ScriptedSwitchOptions } from './scripted-switch.ts';
import { type TapInVain, tapInVain } from './tap-in-vain.ts';
import { jobsOf, letTimePass, type StoredTransaction, storedTransaction, trailOf } from './transactions.ts';

export interface ScriptedOptions extends InstallationOptions {
  /** Both acquirers have a processor at the switch; otherwise only the first. */
  readonly hasBothAcquirers?: boolean;
}

/** The response of a switch that does not do what the request asks. */
export const withCode = (responseCode: string) => ({ responseCode, authorizationCode: undefined });

/** Longer than the second delay of the schedule of reversals: they follow after 5 s, then 30 s. */
const A_WHILE_SECONDS = 60;

/**
 * An installation connected to a scripted switch. Both are new for each test of the file that calls this. After each
 * test no transaction may be in a state that must not rest without a job. A test starts it with `install`.
 */
export function scriptedInstallation(
  defaultValue: ScriptedOptions = {},
  ofSwitch?: () => Promise<ScriptedSwitchOptions>,
) {
  const opened = new ScriptedInstallation(defaultValue);
  beforeEach(async () => opened.openSwitch(await ofSwitch?.()));
  afterEach(() => opened.close());
  return opened;
}

export class ScriptedInstallation {
  readonly #usual: ScriptedOptions;
  #scripted: ScriptedSwitch | undefined;
  #installation: Installation | undefined;

  constructor(defaultValue: ScriptedOptions) {
    this.#usual = { profile: { deadlineMs: 1_000 }, ...defaultValue };
  }

  get scripted(): ScriptedSwitch {
    return this.#scripted!;
  }

  get installation(): Installation {
    return this.#installation!;
  }

  async openSwitch(options: ScriptedSwitchOptions = {}): Promise<void> {
    this.#scripted = await ScriptedSwitch.open(options);
  }

  async close(): Promise<void> {
    const installation = this.#installation;
    this.#installation = undefined;
    if (installation) {
      await expectSoundStates(installation.database);
      await installation.stop();
    }
    await this.scripted.close();
  }

  /** Role `none` starts no gateway. */
  async install(options: ScriptedOptions = {}): Promise<void> {
    const { role = 'all', hasBothAcquirers = false, ...rest } = { ...this.#usual, ...options };
    const connectTo = async () => this.scripted.port;
    const installation = await startInstallation({ connectTo, ...rest, role: 'none' });
    this.#installation = installation;
    for (const table of hasBothAcquirers ? [] : ['routes', 'processors'])
      await installation.database.query(`delete from ${table} where acquirer_id = 2`);
    if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
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

  /** Waits until no job is left that would move the transaction on. */
  untilAtRest(id: string): Promise<void> {
    return eventually(async () => expect(await jobsOf(this.installation.database, id)).toEqual([]));
  }

  /** Waits until `count` requests have had no response in time: the sale and its reversals. */
  untilTimedOut(count: number): Promise<void> {
    return eventually(async () => expect((await this.installation.switchStats()).timedOut).toBe(count));
  }

  /** The next repeat of a reversal, after the previous attempt was answered or has timed out. */
  nextRepeat(id: string): Promise<ReceivedRequest> {
    return eventually(async () => {
      await this.letTimePass(id, A_WHILE_SECONDS);
      return this.scripted.take('0421');
    });
  }

  async answer(mti: string, responseCode: string): Promise<void> {
    (await this.scripted.next(mti)).answer(withCode(responseCode));
  }

  /** Seconds from the last event of a reversal, or from the deadline of the tap, to the job of an attempt. */
  async secondsToAttempt(number: number, id: string): Promise<number> {
    const { database } = this.installation;
    const job = (await jobsOf(database, id)).find(({ data }) => data.reversalAttempt === number);
    const { rows } = await database.query<{ fromMs: number }>(
      `select (extract(epoch from coalesce(
         (select max(at) from transaction_events where transaction_id = t.id and moves::text like '%"reversal%'),
         deadline_at)) * 1000)::float8 as "fromMs" from transactions t where id = $1`,
      [id],
    );
    return (job!.startsAtMs - rows[0]!.fromMs) / 1_000;
  }
}
