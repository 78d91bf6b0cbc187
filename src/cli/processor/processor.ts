import type { Commands } from '../commands.ts';

const types = () => import('./processor-types.ts');
const settings = () => import('./processor-settings.ts');

/** `tapwire processor ...`: the processor types of this installation, and the processors of each acquirer. */
export const commands: Commands = {
  new: {
    description: 'NAME [--dir DIR] [--spec FILE]: create a folder with a processor that passes the conformance suite',
    load: async () => (await types()).create,
  },
  verify: {
    description: 'PATH|PACKAGE|TYPE [--json]: run the conformance suite over a processor',
    load: async () => (await types()).verify,
  },
  watch: {
    description: 'PATH: run the conformance suite at each save',
    load: async () => (await types()).watchType,
  },
  list: {
    description: '[--acquirer ID] [--json]: list the types, or the processors of an acquirer',
    load: async () => ({ run: (await types()).list }),
  },
  example: {
    description: 'TYPE: print a configuration to start from',
    load: async () => ({ run: (await settings()).example }),
  },
  add: {
    description: '--acquirer ID --type TYPE --config FILE [--name NAME]: add a processor to an acquirer',
    load: async () => ({ run: (await settings()).add }),
  },
  change: {
    description:
      '--acquirer ID [--config FILE] [--name NAME] [--same-switch] PROCESSOR: change the configuration, the name or both',
    load: async () => ({ run: (await settings()).change }),
  },
  show: {
    description: '--acquirer ID [--json] PROCESSOR: show its connections in each process, and what waits for it',
    load: async () => ({ run: (await settings()).show }),
  },
  record: {
    description:
      '--acquirer ID [--since TIME] [--until TIME] [--limit 10000] PROCESSOR: print its masked messages, for tapwire simulate --from',
    load: async () => ({ run: (await settings()).record }),
  },
  remove: {
    description: '--acquirer ID PROCESSOR: remove a processor',
    load: async () => ({ run: (await settings()).remove }),
  },
};
