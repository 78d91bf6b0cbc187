import { newBlockedDevice, type StoredBlockedDevice } from '#schemas/admin-tenants';
import { BLOCKED_DEVICE_SETTINGS } from '../store/settings/tenant-settings.ts';
import { settingsCommands } from './settings-commands.ts';

/**
 * `tapwire blocked-device ...`: app installations whose taps an acquirer refuses. Removing an entry unblocks the
 * device.
 */
export const commands = settingsCommands({
  noun: 'device',
  table: BLOCKED_DEVICE_SETTINGS,
  body: newBlockedDevice,
  flags: [{ flag: 'device', property: 'deviceInstallationId', value: 'ID', isFixed: true }],
  columns: {
    titles: ['DEVICE', 'BLOCKED SINCE'],
    cellsOf: ({ deviceInstallationId, createdAt }: StoredBlockedDevice) => [deviceInstallationId, createdAt],
  },
});
