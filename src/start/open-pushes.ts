import { AppTokens } from '../auth/tokens/app-tokens.ts';
import type { OwnTokens } from '../auth/tokens/gateway-tokens.ts';
import type { GuardedFetch } from '../outbound/guarded-fetch.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import { createPushTokenVault, DeviceRegistry } from '../push/device-registry.ts';
import { createLogSender, FcmSender, NO_PUSH_SENDER, readServiceAccount } from '../push/fcm-sender.ts';
import type { PushSender } from '../push/ports.ts';
import { PushPayments } from '../push/push-payments.ts';
import { PostgresDevices } from '../store/directory/devices.ts';
import { inTransaction } from '../store/postgres/group-commit.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { createLinkServices } from './create-transaction-dependencies.ts';
import type { Stores } from './open-stores.ts';
import type { Opening } from './opening.ts';

interface PushParts extends Opening {
  readonly database: Database;
  readonly stores: Stores;
  readonly ownTokens: OwnTokens;
  readonly deps: TransactionDependencies;
  readonly fetcher: GuardedFetch;
  /** The address on which this process listens. */
  readonly origin: () => string;
}

/** The registry of devices that receive payments, and the sender, for routes and for jobs that repeat a push. */
export interface Pushes {
  readonly registry: DeviceRegistry;
  readonly payments: PushPayments;
}

/** @throws StartError BAD_CONFIG for an unusable service account */
export async function openPushes(parts: PushParts): Promise<Pushes> {
  const { config, database, stores, ownTokens, deps, log, report, origin } = parts;
  const { keys, jobs, links, directory } = stores;
  const devices = new PostgresDevices(database);
  const vault = createPushTokenVault(keys);
  const merchants = {
    onlyMerchant: links.onlyMerchant.bind(links),
    findOwned: directory.findOwned.bind(directory),
  };
  const payments = new PushPayments({
    devices,
    vault,
    services: createLinkServices(
      config,
      deps,
      directory,
      new AppTokens(ownTokens, directory, deps.clock.nowMs),
      origin,
    ),
    links,
    sender: await openSender(parts),
    directory,
    record: (push) => links.recordPush(push).catch(report('the outcome of a push could not be recorded')),
    enqueue: (job) => inTransaction(database, (client) => jobs.enqueue(client, [job])),
    onFailed: (push) => log.warn(push, 'payment could not be pushed to its device'),
  });
  return { registry: new DeviceRegistry({ devices, vault, merchants, directory }), payments };
}

async function openSender({ config, fetcher, deps, log }: PushParts): Promise<PushSender> {
  const { FCM_SERVICE_ACCOUNT_FILE: file, FCM_URL: url, TAPWIRE_ENV } = config;
  if (file !== undefined) {
    return new FcmSender({ account: await readServiceAccount(file), url, fetcher, clock: deps.clock });
  }
  if (TAPWIRE_ENV !== 'dev') return NO_PUSH_SENDER;
  // A warning, because the terminal of a demo shows no lower level.
  return createLogSender((message) => log.warn(message, 'push not sent to a device, no push service is configured'));
}
