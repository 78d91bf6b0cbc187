import { repeatEvery } from '../basics/limits/waits.ts';
import type { HandoverSealer } from '../card/handover.ts';
import type { OpenedHsm } from '../hsm-devices/open-hsm.ts';
import type { Processor } from '../kits/processor-kit/processor.ts';
import type { Log } from '../observe/log.ts';
import {
  LONGEST_DEADLINE_SECONDS,
  OUTCOME_GRACE_SECONDS,
  RESPONSE_SLACK_SECONDS,
} from '../payments/model/time-limits.ts';
import type { Transaction } from '../payments/model/transaction.ts';
import type { LostWindow } from '../payments/ports/directory-ports.ts';
import type { Clock } from '../payments/ports/transaction-dependencies.ts';
import type { ProcessorTypes } from '../payments/settings/check-settings.ts';
import type { PostgresDirectory } from '../store/directory/directory.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { BusinessDates } from '../store/switches/business-dates.ts';
import { SEEN_EVERY_MS } from '../store/switches/database-epoch.ts';
import { postgresExchangedKeys } from '../store/switches/exchanged-keys.ts';
import type { KnownDatabase } from '../store/switches/known-database.ts';
import {
  postgresProcessLines,
  postgresProcessorFaults,
  postgresSwitchIdentities,
} from '../store/switches/processor-reports.ts';
import { StanBlocks } from '../store/switches/stan-blocks.ts';
import { readUnseen, type UnseenDatabase } from '../store/transactions/lost-window.ts';
import { AcquirerSwitches, type LineClaims } from '../switching/switches/acquirer-switches.ts';
import { SharedLines } from '../switching/switches/other-processes.ts';
import type { MessageKeeper } from '../switching/switches/ports.ts';
import { refusePinTerminals } from '../switching/switches/translate-pin.ts';
import type { UnmatchedResponses } from '../switching/switches/unmatched-responses.ts';
import { switchAccessOf } from './open-hsm-and-readers.ts';
import type { Opening } from './opening.ts';

const SKIPPED = {
  replaced: 'database was replaced and may lack reservations, STANs skip ahead',
  restored: 'database was restored to an earlier state, STANs skip ahead',
  unseen: 'no gateway was connected for a while, STANs skip ahead in case the database was restored',
};
const HELD =
  'restored database may lack most of the STANs of a day: no taps until the next business date, or until tapwire stan names the last one';
const RESTORED =
  'database was restored and may lack commits: requests that could repeat lost ones are held until tapwire restored releases them';
const UNSEEN =
  'no gateway was connected to the database for a while: if it is a snapshot or backup, stop, and run tapwire restored';
const NOT_NOTED = 'presence could not be recorded for the next failover';

/** Logged on level error, because a person must act. */
const FEW_LEFT = 'few STANs are left before the cut-over, taps without a STAN will not be sent';
const NONE_LEFT = 'no STAN is left before the cut-over, taps are not sent';

/** A shorter time without gateways is a restart or an update. */
const UNSEEN_SECONDS = 900;

function tellRestore(log: Log, window: LostWindow | undefined, unseen?: UnseenDatabase): void {
  if (window !== undefined) {
    const [lostFrom, lostUntil] = [window.fromMs, window.untilMs].map((ms) => new Date(ms).toISOString());
    log.error({ lostFrom, lostUntil }, RESTORED);
  } else if (unseen && unseen.unseenSeconds > UNSEEN_SECONDS)
    log.warn({ seenAt: unseen.seenAt, unseenSeconds: Math.round(unseen.unseenSeconds) }, UNSEEN);
}

/** The connections to the switches of all acquirers, whose keys are in the HSM. */
export async function openSwitches(
  { config, log, closers }: Opening,
  {
    directory,
    database,
    known,
    hsm,
    ...shared
  }: {
    readonly types: ProcessorTypes;
    readonly directory: PostgresDirectory;
    readonly database: Database;
    readonly known: KnownDatabase;
    readonly clock: Clock;
    readonly unmatchedResponses: UnmatchedResponses;
    readonly messages: MessageKeeper;
    /** Claims of lines, in an installation of several cells. */
    readonly claims: LineClaims | undefined;
    readonly hsm: OpenedHsm | undefined;
  },
) {
  const { clock } = shared;
  if (config.TAPWIRE_ENV === 'prod' && !hsm) refusePinTerminals(directory.pinTerminals());
  const pins = hsm && { hsm, reader: { keyId: config.READER_PIN_KEY, format: config.READER_PIN_FORMAT } };
  const unseen = await readUnseen(database);
  const stans = await StanBlocks.open(
    database,
    ({ cause, scopes, held }) => {
      log.warn({ scopes }, SKIPPED[cause]);
      if (held.length > 0) log.error({ held }, HELD);
    },
    (scope, left) => log.error({ ...scope, left }, left > 0 ? FEW_LEFT : NONE_LEFT),
  );
  // The jobs that start next must know what may be lost.
  await directory.refresh();
  tellRestore(log, directory.lostWindow(), unseen);
  known.follow(directory.lostWindow(), async (client) => {
    await stans.noteOn(client);
    const window = await directory.readLostWindow(client);
    tellRestore(log, window);
    return window;
  });
  const noting = repeatEvery(
    SEEN_EVERY_MS,
    () => stans.noteDatabase(),
    (error) => log.debug({ error }, NOT_NOTED),
  );
  closers.push(async () => {
    await noting.stop();
    await stans.close();
  });
  const dates = await BusinessDates.open(database, clock.nowMs, (error) =>
    log.error({ error }, 'business date could not be recorded'),
  );
  closers.push(() => dates.close());
  const keyExchange = hsm && { hsm, kept: postgresExchangedKeys(database) };
  const access = switchAccessOf(config);
  const configured = {
    stored: () => directory.processors(),
    followStored: (onChange: () => void) => directory.followProcessors(onChange),
    faults: postgresProcessorFaults(database),
    identities: postgresSwitchIdentities(database),
  };
  return AcquirerSwitches.open({
    ...shared,
    log,
    access,
    ...configured,
    stans,
    dates,
    macs: hsm,
    pins,
    keyExchange,
  });
}

/**
 * Whether the switch of a transaction posts approvals only after their completions, according to its type. True if that is
 * unknown (the processor was removed or is being moved, its type is not installed, or its configuration is invalid): an
 * approval that no switch posts must not be reported to the merchant.
 */
export function createCompletionCheck(
  types: ReadonlyMap<string, Pick<Processor, 'configSchema' | 'completion'>>,
  directory: Pick<PostgresDirectory, 'processors' | 'routes'>,
): (transaction: Pick<Transaction, 'acquirerId' | 'routeId'>) => boolean {
  return ({ acquirerId, routeId }) => {
    const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
    const stored = directory.processors().find((row) => row.acquirerId === acquirerId && row.id === route?.processorId);
    const type = stored && types.get(stored.type);
    if (!type) return true;
    const { completion, configSchema } = type;
    if (!completion) return false;
    const { data } = configSchema.safeParse(stored!.config);
    return data === undefined || completion.isWanted(data);
  };
}

/** The connections of the other processes that share the switches. A worker accepts no taps, so it hands none over. */
export function openOtherProcesses(
  { config, report }: Opening,
  database: Database,
  switches: AcquirerSwitches,
  sealer: HandoverSealer,
) {
  return SharedLines.open({
    reported: postgresProcessLines(database),
    switches,
    handover: config.TAPWIRE_ROLE === 'all' ? sealer : undefined,
    onError: report('connections to switches could not be reported to other processes'),
  });
}

interface WithDeadline {
  readonly profile?: { readonly deadlineMs?: number };
}

type KnownProcessors = Pick<PostgresDirectory, 'processors'>;

/**
 * The longest deadline among the processors of an acquirer, or of all: how long a tap may wait for a switch while its
 * route is not known. Never less than the default of a profile. Recomputed only when the processors change, because
 * each tap that is handed over asks for it.
 */
export class LongestDeadlines {
  readonly #types: ProcessorTypes;
  readonly #directory: KnownProcessors;
  #seen: ReturnType<KnownProcessors['processors']> | undefined;
  #longest = LONGEST_DEADLINE_SECONDS;
  readonly #byAcquirer = new Map<number, number>();

  constructor(types: ProcessorTypes, directory: KnownProcessors) {
    this.#types = types;
    this.#directory = directory;
  }

  /** The longest deadline of one acquirer's switches, in seconds. */
  readonly secondsOf = (acquirerId: number): number => {
    this.#refresh();
    return this.#byAcquirer.get(acquirerId) ?? LONGEST_DEADLINE_SECONDS;
  };

  /** The longest deadline of the installation's switches, in seconds. */
  get seconds(): number {
    this.#refresh();
    return this.#longest;
  }

  /** The longest time that an HTTP request can wait for a switch, with the time to decide about a silent one. */
  get requestMs(): number {
    return (this.seconds + RESPONSE_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1_000;
  }

  #refresh(): void {
    const processors = this.#directory.processors();
    if (processors === this.#seen) return;
    this.#seen = processors;
    this.#byAcquirer.clear();
    for (const { acquirerId, type, config } of processors) {
      const own = (config as WithDeadline).profile?.deadlineMs ?? this.#types.get(type)?.profile.deadlineMs ?? 0;
      const before = this.#byAcquirer.get(acquirerId) ?? LONGEST_DEADLINE_SECONDS;
      this.#byAcquirer.set(acquirerId, Math.max(before, own / 1_000));
    }
    this.#longest = Math.max(LONGEST_DEADLINE_SECONDS, ...this.#byAcquirer.values());
  }
}
