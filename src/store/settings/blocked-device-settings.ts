import type { NewBlockedDevice, StoredBlockedDevice } from '#schemas/admin-tenants';
import type { SettingsTable } from './settings-table.ts';

/** Every gateway holds all of them in memory and checks each tap; lost and stolen phones are few. */
const MAX_BLOCKED_DEVICES = 100_000;

/** Installations from which an acquirer accepts no tap. Removing an entry unblocks the installation. */
export const BLOCKED_DEVICE_SETTINGS: SettingsTable<NewBlockedDevice, StoredBlockedDevice> = {
  kind: 'blocked device',
  table: 'blocked_devices',
  key: { name: 'deviceInstallationId', column: 'device_installation_id', from: 'settings' },
  most: MAX_BLOCKED_DEVICES,
  columns: { deviceInstallationId: 'device_installation_id' },
};
