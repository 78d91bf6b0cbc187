import { type Commands, runCommand } from './commands.ts';

const COMMANDS: Commands = {
  listen: {
    description:
      '--forward-to URL [--secret whsec_…] [--all] [--profile FILE]: pass events on to a receiver of yours, signed',
    load: () => import('./webhooks-listen.ts'),
  },
};

/** `tapwire webhooks ...`: what integrators are told. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire webhooks', COMMANDS, args);
}
