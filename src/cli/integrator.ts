import { integratorChange, newIntegrator, type StoredIntegrator } from '#schemas/admin-tenants';
import { INTEGRATOR_SETTINGS } from '../store/settings/tenant-settings.ts';
import { settingsCommands } from './settings-commands.ts';

/** `tapwire integrator ...`: the companies that write the software of an acquirer's merchants. */
export const commands = settingsCommands({
  noun: 'integrator',
  table: INTEGRATOR_SETTINGS,
  body: newIntegrator,
  change: integratorChange,
  flags: [{ flag: 'name', property: 'name', value: 'TEXT' }],
  canBeBlocked: true,
  columns: {
    titles: ['INTEGRATOR', 'NAME', 'BLOCKED'],
    cellsOf: ({ id, name, blocked }: StoredIntegrator) => [String(id), name, blocked ? 'yes' : 'no'],
  },
});
