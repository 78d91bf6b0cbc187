import { newTerminal, type StoredTerminal, terminalChange } from '#schemas/admin-tenants';
import { TERMINAL_SETTINGS } from '../store/settings/tenant-settings.ts';
import { settingsCommands } from './settings-commands.ts';
import { readYesOrNo } from './words.ts';

/** `tapwire terminal ...`: the terminals of an acquirer, each with its name in tokens and its name at the switch. */
export const commands = settingsCommands({
  noun: 'terminal',
  table: TERMINAL_SETTINGS,
  body: newTerminal,
  change: terminalChange,
  flags: [
    { flag: 'x-tid', property: 'xTid', value: 'TEXT', isFixed: true },
    { flag: 'tid', property: 'tid', value: 'TEXT' },
    { flag: 'mid', property: 'mid', value: 'TEXT' },
    { flag: 'takes-pin', property: 'canTakePin', value: 'yes|no', read: readYesOrNo },
    { flag: 'profile', property: 'profile', value: 'NAME' },
    { flag: 'merchant', property: 'merchantId', value: 'ID' },
  ],
  columns: {
    titles: ['TERMINAL', 'TID', 'MID', 'TAKES PIN', 'PROFILE', 'MERCHANT'],
    cellsOf: ({ xTid, tid, mid, canTakePin, profile, merchantId }: StoredTerminal) => [
      ...[xTid, tid, mid, canTakePin ? 'yes' : 'no'],
      ...[profile ?? 'none', merchantId ?? 'any'],
    ],
  },
});
