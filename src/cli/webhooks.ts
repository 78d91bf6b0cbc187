import { type Commands, runCommand } from './commands.ts';

const COMMANDS: Commands = {
  listen: {
    description: '--forward-to URL [--secret whsec_…] [--all] [--profile FILE]: forward signed events to your receiver',
    load: () => import('./webhooks-listen.ts'),
  },
};

/** `tapwire webhooks ...`: tools for integrators that receive webhooks. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire webhooks', COMMANDS, args);
}
