import { merchantChange, newMerchant, type StoredMerchant } from '#schemas/admin-tenants';
import { MERCHANT_SETTINGS } from '../store/settings/tenant-settings.ts';
import { settingsCommands } from './settings-commands.ts';
import { readJsonText, readNumber } from './words.ts';

/** `tapwire merchant ...`: the merchants of an acquirer. */
export const commands = settingsCommands({
  noun: 'merchant',
  table: MERCHANT_SETTINGS,
  body: newMerchant,
  change: merchantChange,
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
