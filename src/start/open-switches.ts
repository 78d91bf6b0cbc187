import { repeatEvery } from '../basics/limits/repeat-every.ts';
import type { OpenedHsm } from '../hsm-devices/open-hsm.ts';
import type { Log } from '../observe/log.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { ProcessorTypes } from '../payments/settings/check-routing.ts';
import type { PostgresDirectory } from '../store/directory/directory.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { BusinessDates } from '../store/switches/business-dates.ts';
import { SEEN_EVERY_MS } from '../store/switches/database-epoch.ts';
import { postgresExchangedKeys } from '../store/switches/exchanged-keys.ts';
import { postgresProcessorFaults, postgresSwitchIdentities } from '../store/switches/processor-faults.ts';
import { StanBlocks } from '../store/switches/stan-blocks.ts';
import { AcquirerSwitches, type LineClaims } from '../switching/switches/acquirer-switches.ts';
import type { MessageKeeper } from '../switching/switches/ports.ts';
import { refusePinTerminals } from '../switching/switches/translate-pin.ts';
import type { UnmatchedResponses } from '../switching/switches/unmatched-responses.ts';
import type { Config } from './config.ts';
import type { Closers } from './opening.ts';
import { switchAccessOf } from './switch-access-of.ts';

const SKIPPED = {
  replaced: 'database was replaced and may lack reservations, STANs skip ahead',
  restored: 'database was restored to an earlier state, STANs skip ahead',
  unseen: 'no gateway was connected for a while, STANs skip ahead in case the database was restored',
};
const HELD =
  'restored database may lack most of the STANs of a day: no taps until the next business date, or until tapwire stan names the last one';
const NOT_NOTED = 'presence could not be recorded for the next failover';

/** Logged on level error, because a person must act. */
const FEW_LEFT = 'few STANs are left before the cut-over, taps without a STAN will not be sent';
const NONE_LEFT = 'no STAN is left before the cut-over, taps are not sent';

export interface SwitchParts {
  readonly config: Config;
  readonly types: ProcessorTypes;
  readonly directory: PostgresDirectory;
  readonly database: Database;
  readonly clock: TransactionDependencies['clock'];
  readonly unmatchedResponses: UnmatchedResponses;
  readonly messages: MessageKeeper;
  /** In an installation of several cells. */
  readonly claims: LineClaims | undefined;
  readonly hsm: OpenedHsm | undefined;
  readonly log: Log;
  readonly closers: Closers;
}

/** The connections to the switches of all acquirers, whose keys are in the HSM. */
export async function openSwitches({ config, directory, database, hsm, closers, ...shared }: SwitchParts) {
  const { log, clock } = shared;
  if (config.TAPWIRE_ENV === 'prod' && !hsm) refusePinTerminals(directory.pinTerminals());
  const pins = hsm && { hsm, reader: { keyId: config.READER_PIN_KEY, format: config.READER_PIN_FORMAT } };
  const stans = await StanBlocks.open(
    database,
    ({ cause, scopes, held }) => {
      log.warn({ scopes }, SKIPPED[cause]);
      if (held.length > 0) log.error({ held }, HELD);
    },
    (scope, left) => log.error({ ...scope, left }, left > 0 ? FEW_LEFT : NONE_LEFT),
  );
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
  const known = {
    stored: () => directory.processors(),
    followStored: (onChange: () => void) => directory.followProcessors(onChange),
    faults: postgresProcessorFaults(database),
    identities: postgresSwitchIdentities(database),
  };
  const switches = await AcquirerSwitches.open({
    ...shared,
    access,
    ...known,
    stans,
    dates,
    macs: hsm,
    pins,
    keyExchange,
  });
  return switches;
}
