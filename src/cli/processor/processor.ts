import { type Commands, runCommand } from '../commands.ts';

const settings = () => import('./processor-settings.ts');

const COMMANDS: Commands = {
  new: {
    description: 'NAME [--dir DIR]: a folder with a processor that conforms as it is',
    load: () => import('./processor-new.ts'),
  },
  verify: {
    description: 'PATH|PACKAGE|TYPE [--json]: the conformance suite over one',
    load: () => import('./processor-verify.ts'),
  },
  list: {
    description: '[--acquirer ID] [--json]: the types there are, or the processors of an acquirer',
    load: () => import('./processor-list.ts'),
  },
  example: {
    description: 'TYPE: a configuration to start from',
    load: async () => ({ run: (await settings()).example }),
  },
  add: {
    description: '--acquirer ID --type TYPE --config FILE: give an acquirer one more',
    load: async () => ({ run: (await settings()).add }),
  },
  change: {
    description: '--acquirer ID --config FILE PROCESSOR',
    load: async () => ({ run: (await settings()).change }),
  },
  remove: { description: '--acquirer ID PROCESSOR', load: async () => ({ run: (await settings()).remove }) },
};

/** `tapwire processor ...`: the kinds of switches that this installation speaks to, and which acquirer has which. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire processor', COMMANDS, args);
}
