import { routeSettings, type StoredRoute } from '#schemas/admin-routing';
import { ROUTE_SETTINGS } from '../store/settings/route-settings.ts';
import { settingsCommands } from './settings-commands.ts';
import { readNumber } from './words.ts';

/**
 * `tapwire route ...`: assigns the taps of an acquirer to its processors. A tap tries the routes that match it,
 * lowest priority first. Gateways apply a change automatically, within seconds.
 */
export const commands = settingsCommands({
  noun: 'route',
  table: ROUTE_SETTINGS,
  body: routeSettings,
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
