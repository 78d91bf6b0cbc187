import type { KnownRoute } from '../../src/http/route-table.ts';
import type { Installation } from '../support/installation.ts';
import { nameOf } from './ask.ts';
import { type Row, row } from './row.ts';
import { rowsOf } from './rows.ts';

/** A route as the gateway lists it, with its valid request. */
export interface TriedRoute extends KnownRoute {
  readonly row: Row;
}

/** No test of rights waits for a silent switch, and a busy machine may take longer than the usual deadline of tests. */
export const PATIENT = { deadlineMs: 20_000 };

/** Settings of a gateway that a few callers use thousands of times. */
export const UNLIMITED = {
  RATE_PER_CREDENTIAL: '0',
  RATE_PER_APP_TOKEN: '0',
  RATE_PER_ADDRESS: '0',
  TAPS_PER_LINK: '0',
  TAPS_PER_TOKEN: '0',
  TAPS_PER_MERCHANT: '0',
  LOGIN_TRIES_PER_ADDRESS: '1000',
};

/** Every route; `openRow` is the request of a public one, which names nothing that the matrix replaces. */
export function triedRoutes(installation: Installation, openRow: (name: string) => Row = () => row(() => ({}))) {
  const rows = rowsOf(installation);
  return installation.routes.map((route): TriedRoute => {
    const name = nameOf(route);
    return { ...route, row: rows[name] ?? openRow(name) };
  });
}
