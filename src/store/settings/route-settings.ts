import type { RouteSettings, StoredRoute } from '#schemas/admin-routing';
import { invalidValues, RequestRejected } from '../../basics/errors.ts';
import { checkRouteSettings } from '../../payments/settings/check-routing.ts';
import type { SettingsTable } from './settings-table.ts';

/** Every tap searches all of them. */
const MAX_ROUTES = 512;

/** The routes of acquirers: which taps are sent to a processor, and in which order. */
export const ROUTE_SETTINGS: SettingsTable<RouteSettings, StoredRoute> = {
  kind: 'route',
  table: 'routes',
  key: { name: 'id', column: 'id', from: 'count' },
  most: MAX_ROUTES,
  // Transactions keep the id of their route.
  removed: { column: 'removed_at', isShown: false },
  columns: { processorId: 'processor_id', priority: 'priority', currency: 'currency', scheme: 'scheme', xTid: 'x_tid' },
  check: checkRouteSettings,
  // The processor cannot change: transactions find their switch through their route as long as something may be
  // reversed.
  checkChange(before, { processorId }) {
    if (before.processorId !== processorId) throw new RequestRejected('ROUTE_PROCESSOR_FIXED');
  },
  async checkReferences(client, { acquirerId }, { processorId, xTid }) {
    const { rows } = await client.query<{ hasProcessor: boolean; hasTerminal: boolean }>(
      `select exists (select from processors where acquirer_id = $1 and id = $2 and removed_at is null) as "hasProcessor",
         $3::text is null or exists (select from terminals where acquirer_id = $1 and x_tid = $3) as "hasTerminal"`,
      [acquirerId, processorId, xTid],
    );
    const { hasProcessor, hasTerminal } = rows[0]!;
    const faults = [
      ...(hasProcessor ? [] : [{ path: ['processorId'], detail: 'no processor of the acquirer' }]),
      ...(hasTerminal ? [] : [{ path: ['xTid'], detail: 'no terminal of the acquirer' }]),
    ];
    if (faults.length > 0) throw invalidValues(faults);
  },
};
