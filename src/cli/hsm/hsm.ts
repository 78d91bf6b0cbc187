import type { Commands } from '../commands.ts';

const keys = () => import('./hsm-key-commands.ts');

/** `tapwire hsm ...`: the HSM of the environment (`HSM_MODULE`, `HSM_KEYS_FILE`). Nothing here shows a key. */
export const commands: Commands = {
  status: {
    description: '[--json]: show each device; exit code 1 if one is not ready',
    load: async () => ({ run: (await keys()).status }),
  },
  inventory: {
    description:
      '[--all] [--json]: list the keys with owner, check value, dates and users; exit code 1 if one is not usable (--all: retired keys as well)',
    load: async () => ({ run: (await keys()).inventory }),
  },
  import: {
    description: '--key ID --usage USAGE ...: add a key that another party has sent',
    load: () => import('./hsm-import.ts'),
  },
  register: {
    description: '[--usage USAGE] [--due DATE] KEY: record the facts of a key that the HSM has already',
    load: async () => ({ run: (await keys()).register }),
  },
  rotate: {
    description:
      '--successor KEY [--number N] [--overlap 7d] KEY: let the successor take the place of a key in every processor',
    load: async () => ({ run: (await keys()).rotate }),
  },
  retire: {
    description: '[--now] KEY: remove a key that nothing uses (--now: before the end of its overlap)',
    load: async () => ({ run: (await keys()).retire }),
  },
};
