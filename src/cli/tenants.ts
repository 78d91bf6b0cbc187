import { ADMIN_OPERATIONS, SETTINGS } from '#schemas/admin-operations';
import type { StoredRoute } from '#schemas/admin-routing';
import type {
  StoredAcquirer,
  StoredBlockedDevice,
  StoredIntegrator,
  StoredMerchant,
  StoredTerminal,
} from '#schemas/admin-tenants';
import { AcquirerSettings } from '../store/settings/acquirer-settings.ts';
import { Acquirers } from '../store/settings/acquirers.ts';
import { ROUTE_SETTINGS } from '../store/settings/processor-settings.ts';
import {
  BLOCKED_DEVICE_SETTINGS,
  INTEGRATOR_SETTINGS,
  MERCHANT_SETTINGS,
  TERMINAL_SETTINGS,
} from '../store/settings/tenant-settings.ts';
import { actor, changeOf, checkedBy, listAll, onDatabase } from './administration.ts';
import {
  flag,
  idOf,
  needed,
  readJsonText,
  readNumber,
  readOptions,
  readWords,
  readYesOrNo,
  text,
} from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList } from './output.ts';
import { settingsCommands } from './settings-commands.ts';

const ACQUIRERS: Columns<StoredAcquirer> = {
  titles: ['ACQUIRER', 'NAME', 'BLOCKED'],
  cellsOf: ({ id, name, blocked }) => [String(id), name, blocked ? 'yes' : 'no'],
};

/** `tapwire acquirer ...`: the acquirers of the installation. An acquirer cannot be removed, only blocked. */
export const acquirer: Commands = {
  add: command('--name TEXT [--json]: add an acquirer', async (args) => {
    const values = readOptions(args, { name: text, json: flag });
    const given = checkedBy(ADMIN_OPERATIONS.addAcquirer.body, { name: values.name });
    const added = await onDatabase((database) => new Acquirers(database).add(actor(), given));
    console.log(values.json ? JSON.stringify(added, null, 2) : listOf([added], ACQUIRERS));
  }),
  list: command('[--json]: list the acquirers', async (args) => {
    const values = readOptions(args, { json: flag });
    const all = await onDatabase((database) => {
      const acquirers = new Acquirers(database);
      return listAll('id', (page) => acquirers.list(page));
    });
    printList(all, ACQUIRERS, values.json);
  }),
  change: command('--name TEXT ACQUIRER: change the name', (args) => {
    const { values, words } = readWords(args, { name: text });
    return changeAcquirer(words, { name: needed(values.name, '--name: expected the new name') });
  }),
  block: command('ACQUIRER: refuse taps from all its merchants', (args) => blockAcquirer(args, true)),
  unblock: command('ACQUIRER: accept their taps again', (args) => blockAcquirer(args, false)),
};

function blockAcquirer(args: string[], blocked: boolean): Promise<void> {
  return changeAcquirer(readWords(args, {}).words, { blocked });
}

async function changeAcquirer([id]: string[], changes: object): Promise<void> {
  const given = checkedBy(ADMIN_OPERATIONS.changeAcquirer.body, changes);
  const change = changeOf(idOf(id, 'ACQUIRER'));
  const changed = await onDatabase((database) => new Acquirers(database).change(change, given));
  console.log(listOf([changed], ACQUIRERS));
}

/** `tapwire integrator ...`: the companies that write the software of an acquirer's merchants. */
export const integrator = settingsCommands({
  noun: 'integrator',
  operations: SETTINGS.integrators,
  open: (database) => new AcquirerSettings(database, INTEGRATOR_SETTINGS),
  key: INTEGRATOR_SETTINGS.key,
  flags: [{ flag: 'name', property: 'name', value: 'TEXT' }],
  canBeBlocked: true,
  columns: {
    titles: ['INTEGRATOR', 'NAME', 'BLOCKED'],
    cellsOf: ({ id, name, blocked }: StoredIntegrator) => [String(id), name, blocked ? 'yes' : 'no'],
  },
});

/** `tapwire merchant ...`: the merchants of an acquirer. */
export const merchant = settingsCommands({
  noun: 'merchant',
  operations: SETTINGS.merchants,
  open: (database) => new AcquirerSettings(database, MERCHANT_SETTINGS),
  key: MERCHANT_SETTINGS.key,
  flags: [
    { flag: 'id', property: 'id', value: 'TEXT', isFixed: true },
    { flag: 'integrator', property: 'integratorId', value: 'ID', read: readNumber, isFixed: true },
    { flag: 'name', property: 'name', value: 'TEXT' },
    { flag: 'street', property: 'street', value: 'TEXT' },
    { flag: 'city', property: 'city', value: 'TEXT' },
    { flag: 'country', property: 'country', value: 'ZA' },
    { flag: 'mcc', property: 'mcc', value: '5814' },
    { flag: 'currency', property: 'currency', value: 'ZAR' },
    { flag: 'time-zone', property: 'timeZone', value: 'Africa/Johannesburg' },
    { flag: 'fees-config', property: 'feesConfigId', value: 'ID', read: readNumber },
    { flag: 'fee', property: 'fee', value: '0.50', read: readNumber },
    { flag: 'settings', property: 'settings', value: 'JSON', read: readJsonText },
  ],
  canBeBlocked: true,
  columns: {
    titles: ['MERCHANT', 'INTEGRATOR', 'NAME', 'MCC', 'COUNTRY', 'CURRENCY', 'BLOCKED'],
    cellsOf: ({ id, integratorId, name, mcc, country, currency, blocked }: StoredMerchant) => [
      ...[id, String(integratorId), name, mcc, country, currency],
      blocked ? 'yes' : 'no',
    ],
  },
});

/** `tapwire terminal ...`: the terminals of an acquirer, each with its name in tokens and its name at the switch. */
export const terminal = settingsCommands({
  noun: 'terminal',
  operations: SETTINGS.terminals,
  open: (database) => new AcquirerSettings(database, TERMINAL_SETTINGS),
  key: TERMINAL_SETTINGS.key,
  flags: [
    { flag: 'x-tid', property: 'xTid', value: 'TEXT', isFixed: true },
    { flag: 'tid', property: 'tid', value: 'TEXT' },
    { flag: 'mid', property: 'mid', value: 'TEXT' },
    { flag: 'takes-pin', property: 'canTakePin', value: 'yes|no', read: readYesOrNo },
    { flag: 'profile', property: 'profile', value: 'NAME' },
    { flag: 'merchant', property: 'merchantId', value: 'ID' },
  ],
  columns: {
    titles: ['TERMINAL', 'TID', 'MID', 'TAKES PIN', 'PROFILE', 'MERCHANT'],
    cellsOf: ({ xTid, tid, mid, canTakePin, profile, merchantId }: StoredTerminal) => [
      ...[xTid, tid, mid, canTakePin ? 'yes' : 'no'],
      ...[profile ?? 'none', merchantId ?? 'any'],
    ],
  },
});

/**
 * `tapwire blocked-device ...`: app installations whose taps an acquirer refuses. Removing an entry unblocks the
 * device.
 */
export const blockedDevice = settingsCommands({
  noun: 'device',
  operations: SETTINGS.blockedDevices,
  open: (database) => new AcquirerSettings(database, BLOCKED_DEVICE_SETTINGS),
  key: BLOCKED_DEVICE_SETTINGS.key,
  flags: [{ flag: 'device', property: 'deviceInstallationId', value: 'ID', isFixed: true }],
  columns: {
    titles: ['DEVICE', 'BLOCKED SINCE'],
    cellsOf: ({ deviceInstallationId, createdAt }: StoredBlockedDevice) => [deviceInstallationId, createdAt],
  },
});

/**
 * `tapwire route ...`: assigns the taps of an acquirer to its processors. A tap tries the routes that match it,
 * lowest priority first. Gateways apply a change automatically, within seconds.
 */
export const route = settingsCommands({
  noun: 'route',
  // A route is added and removed here. The API can replace one as a whole.
  operations: { add: SETTINGS.routes.add },
  open: (database) => new AcquirerSettings(database, ROUTE_SETTINGS),
  key: ROUTE_SETTINGS.key,
  flags: [
    { flag: 'processor', property: 'processorId', value: 'ID', read: readNumber },
    { flag: 'priority', property: 'priority', value: '1', defaultValue: '1', read: readNumber },
    { flag: 'currency', property: 'currency', value: 'ZAR' },
    { flag: 'scheme', property: 'scheme', value: 'Visa' },
    { flag: 'terminal', property: 'xTid', value: 'X-TID' },
  ],
  columns: {
    titles: ['ROUTE', 'PRIORITY', 'PROCESSOR', 'CURRENCY', 'SCHEME', 'TERMINAL'],
    cellsOf: ({ id, priority, processorId, currency, scheme, xTid }: StoredRoute) => [
      ...[id, priority, processorId].map(String),
      ...[currency, scheme, xTid].map((given) => given ?? 'any'),
    ],
  },
});
