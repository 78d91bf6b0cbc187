import type { Commands } from './commands.ts';

/** `tapwire webhooks ...`: tools for integrators that receive webhooks. */
export const commands: Commands = {
  listen: {
    description: '--forward-to URL [--secret whsec_…] [--all] [--profile FILE]: forward signed events to your receiver',
    load: () => import('./webhooks-listen.ts'),
  },
};
