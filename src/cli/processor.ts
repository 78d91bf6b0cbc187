import { type Commands, runCommand } from './commands.ts';

const COMMANDS: Commands = {
  new: { says: 'make a processor that conforms as it is (NAME [--dir DIR])', load: () => import('./processor-new.ts') },
  verify: {
    says: 'run the conformance suite over a processor (PATH|PACKAGE|TYPE [--json])',
    load: () => import('./processor-verify.ts'),
  },
  list: { says: 'tell which processors there are', load: () => import('./processor-list.ts') },
  features: { says: 'write the table of processors/README.md anew', load: () => import('./processor-features.ts') },
};

/** `tapwire processor new|verify|list|features`: the kinds of switches that this installation can speak to. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire processor', COMMANDS, args);
}
