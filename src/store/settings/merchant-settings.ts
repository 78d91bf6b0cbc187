import type { NewMerchant, StoredMerchant } from '#schemas/admin-tenants';
import { invalidValue, RequestRejected } from '../../errors.ts';
import { checkMerchant } from '../../transactions/settings/check-tenants.ts';
import type { SettingsTable } from './settings-table.ts';

/**
 * Every gateway holds all of them in memory, a few hundred bytes each; the database compares them every two seconds.
 */
const MAX_MERCHANTS = 100_000;

/** The merchants of acquirers, each with its integrator. */
export const MERCHANT_SETTINGS: SettingsTable<NewMerchant, StoredMerchant> = {
  kind: 'merchant',
  table: 'merchants',
  key: { name: 'id', column: 'id', from: 'settings' },
  most: MAX_MERCHANTS,
  columns: {
    id: 'id',
    integratorId: 'integrator_id',
    name: 'name',
    street: 'street',
    city: 'city',
    country: 'country',
    mcc: 'mcc',
    currency: 'currency',
    timeZone: 'time_zone',
    feesConfigId: 'fees_config_id',
    fee: { column: 'fee', as: 'fee::float8' },
    settings: 'settings',
    blocked: 'is_blocked',
  },
  check: checkMerchant,
  async checkReferences(client, { acquirerId }, { integratorId }) {
    const { rowCount } = await client.query('select from integrators where acquirer_id = $1 and id = $2', [
      acquirerId,
      integratorId,
    ]);
    if (rowCount === 0) throw invalidValue('integratorId', 'must be an integrator of the acquirer');
  },
  // The integrator cannot change, because transactions, keys and users name both.
  checkChange(before, { integratorId }) {
    if (before.integratorId !== integratorId) throw new RequestRejected('MERCHANT_INTEGRATOR_FIXED');
  },
  async checkRemoval(client, acquirerId, id) {
    const { rowCount } = await client.query(NEEDS, [acquirerId, id]);
    if (rowCount !== 0) throw new RequestRejected('MERCHANT_HAS_HISTORY');
  },
};

// Neither table has a foreign key: the first is written too often, the second holds the keys of all owners.
const NEEDS = `
select from transactions where acquirer_id = $1 and merchant_id = $2
union all select from api_keys where acquirer_id = $1 and merchant_id = $2
union all select from issuer_keys where acquirer_id = $1 and merchant_id = $2
limit 1`;
