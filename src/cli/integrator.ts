import { integratorChange, newIntegrator, type StoredIntegrator } from '#schemas/admin-tenants';
import { INTEGRATOR_SETTINGS } from '../store/settings/tenant-settings.ts';
import { runCommand } from './commands.ts';
import { settingsCommands } from './settings-commands.ts';

const COMMANDS = settingsCommands({
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

/** `tapwire integrator ...`: the companies that write the software of an acquirer's merchants. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire integrator', COMMANDS, args);
}
