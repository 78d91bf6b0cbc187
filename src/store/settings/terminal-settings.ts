import type { NewTerminal, StoredTerminal } from '#schemas/admin-tenants';
import { invalidValue, RequestRejected } from '../../errors.ts';
import type { SettingsTable } from './settings-table.ts';

/** Every gateway holds all of them in memory, a hundred bytes each; the database compares them every two seconds. */
const MAX_TERMINALS = 100_000;

/** The terminals of acquirers: the name in tokens, and the name at the switch. */
export const TERMINAL_SETTINGS: SettingsTable<NewTerminal, StoredTerminal> = {
  kind: 'terminal',
  table: 'terminals',
  key: { name: 'xTid', column: 'x_tid', from: 'settings' },
  most: MAX_TERMINALS,
  columns: {
    xTid: 'x_tid',
    tid: 'tid',
    mid: 'mid',
    canTakePin: 'can_take_pin',
    profile: 'profile_name',
    merchantId: 'merchant_id',
  },
  async checkReferences(client, { acquirerId }, { profile, merchantId }) {
    const isThere = async (text: string, id: string) => (await client.query(text, [acquirerId, id])).rowCount === 1;
    const profiles = 'select from terminal_profiles where acquirer_id = $1 and name = $2';
    if (profile !== null && !(await isThere(profiles, profile))) {
      throw invalidValue('profile', 'must be a terminal profile of the acquirer');
    }
    const merchants = 'select from merchants where acquirer_id = $1 and id = $2';
    if (merchantId !== null && !(await isThere(merchants, merchantId))) {
      throw invalidValue('merchantId', 'must be a merchant of the acquirer');
    }
  },
  async checkRemoval(client, acquirerId, xTid) {
    const { rowCount } = await client.query(
      'select from routes where acquirer_id = $1 and x_tid = $2 and removed_at is null limit 1',
      [acquirerId, xTid],
    );
    if (rowCount !== 0) throw new RequestRejected('TERMINAL_HAS_ROUTE');
  },
};
