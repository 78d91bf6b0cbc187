import type { RouteSettings, StoredRoute } from '#schemas/admin-routing';
import { invalidValues, RequestRejected } from '../../errors.ts';
import { checkRouteSettings } from '../../transactions/settings/check-routing.ts';
import type { SettingsTable } from './settings-table.ts';

/** Every tap looks through them. */
const MAX_ROUTES = 512;

/** The routes of acquirers: which taps a processor gets, and when. */
export const ROUTE_SETTINGS: SettingsTable<RouteSettings, StoredRoute> = {
  kind: 'route',
  table: 'routes',
  key: { name: 'id', column: 'id', from: 'count' },
  most: MAX_ROUTES,
  // Transactions keep naming the route that they went by.
  removed: { column: 'removed_at', isShown: false },
  columns: { processorId: 'processor_id', priority: 'priority', currency: 'currency', scheme: 'scheme', xTid: 'x_tid' },
  check: checkRouteSettings,
  // Transactions find their switch by their route, for as long as there is something to reverse.
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
