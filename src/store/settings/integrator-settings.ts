import type { NewIntegrator, StoredIntegrator } from '#schemas/admin-tenants';
import type { SettingsTable } from './settings-table.ts';

/** Directories hold all of them in memory. */
const MAX_INTEGRATORS = 10_000;

/** The integrators of acquirers: they write the software of their merchants. */
export const INTEGRATOR_SETTINGS: SettingsTable<NewIntegrator, StoredIntegrator> = {
  kind: 'integrator',
  table: 'integrators',
  key: { name: 'id', column: 'id', from: 'count' },
  most: MAX_INTEGRATORS,
  columns: { name: 'name', blocked: 'is_blocked' },
};
