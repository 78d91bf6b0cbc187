import type { Commands } from '../commands.ts';

/** `tapwire transaction ...`: what the database knows about one transaction. */
export const commands: Commands = {
  show: {
    description:
      'ID|REFERENCE|CORRELATION [--acquirer ID] [--json]: show a transaction, its history, messages and webhooks, without card data',
    load: async () => ({ run: (await import('./transaction-show.ts')).run }),
  },
};
