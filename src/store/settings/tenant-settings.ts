import type {
  NewBlockedDevice,
  NewIntegrator,
  NewMerchant,
  NewTerminal,
  StoredBlockedDevice,
  StoredIntegrator,
  StoredMerchant,
  StoredTerminal,
} from '#schemas/admin-tenants';
import type { NewAttester, StoredAttester } from '#schemas/attestation';
import { readIssuerPem } from '../../auth/issuers/issuer-keys.ts';
import { invalidValue, RequestRejected } from '../../basics/errors.ts';
import { checkMerchant } from '../../payments/settings/check-settings.ts';
import { checkIntegrator } from './find-owner.ts';
import type { SettingsTable } from './settings-table.ts';

/** Directories hold all of them in memory. */
const MAX_INTEGRATORS = 10_000;

/** The integrators of acquirers: they write the software of their merchants. */
export const INTEGRATOR_SETTINGS: SettingsTable<NewIntegrator, StoredIntegrator> = {
  kind: 'integrator',
  table: 'integrators',
  key: { name: 'id', column: 'id', from: 'count' },
  namedBy: ['name'],
  most: MAX_INTEGRATORS,
  columns: { name: 'name', blocked: 'is_blocked' },
  // The next integrator may get the same id, and the keys would act for it.
  async checkRemoval(client, acquirerId, id) {
    const { rowCount } = await client.query(INTEGRATOR_KEYS, [acquirerId, id]);
    if (rowCount !== 0) throw new RequestRejected('INTEGRATOR_HAS_KEYS');
  },
};

// The tables hold the keys of all owners, so they have no foreign key.
const INTEGRATOR_KEYS = `
select from api_keys where acquirer_id = $1 and integrator_id = $2
union all select from issuer_keys where acquirer_id = $1 and integrator_id = $2
limit 1`;

/**
 * Every gateway holds all of them in memory, a few hundred bytes each; the database compares them every two seconds.
 */
const MAX_MERCHANTS = 100_000;

/** The merchants of acquirers, each with its integrator. */
export const MERCHANT_SETTINGS: SettingsTable<NewMerchant, StoredMerchant> = {
  kind: 'merchant',
  table: 'merchants',
  key: { name: 'id', column: 'id', from: 'settings' },
  namedBy: ['name', 'city'],
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
  checkReferences: (client, { acquirerId }, { integratorId }) => checkIntegrator(client, acquirerId, integratorId),
  // The integrator cannot change, because transactions, keys and users name both.
  checkChange(before, { integratorId }) {
    if (before.integratorId !== integratorId) throw new RequestRejected('MERCHANT_INTEGRATOR_FIXED');
  },
  async checkRemoval(client, acquirerId, id) {
    const { rowCount } = await client.query(MERCHANT_HISTORY, [acquirerId, id]);
    if (rowCount !== 0) throw new RequestRejected('MERCHANT_HAS_HISTORY');
  },
};

// Neither table has a foreign key: the first is written too often, the second holds the keys of all owners.
const MERCHANT_HISTORY = `
select from merchant_references where acquirer_id = $1 and merchant_id = $2
union all select from api_keys where acquirer_id = $1 and merchant_id = $2
union all select from issuer_keys where acquirer_id = $1 and merchant_id = $2
limit 1`;

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

/** Two for each platform of phones, while the key of each is replaced, with room to spare; a tap may try each. */
const MAX_ATTESTERS = 16;

/** The services that attest an acquirer's devices. */
export const ATTESTER_SETTINGS: SettingsTable<NewAttester, StoredAttester> = {
  kind: 'attester',
  table: 'attesters',
  key: { name: 'name', column: 'name', from: 'settings' },
  namedBy: ['issuer'],
  most: MAX_ATTESTERS,
  columns: {
    name: 'name',
    issuer: 'issuer',
    publicKey: 'public_key',
    maxAgeSeconds: 'max_age_seconds',
    required: 'is_required',
    leastAppVersion: 'least_app_version',
  },
  check({ publicKey }) {
    if (readIssuerPem(publicKey) === undefined)
      throw invalidValue('publicKey', 'must be a public key as PEM of RSA (2,048 to 8,192 bits), P-256 or Ed25519');
  },
};

/** Every gateway holds all of them in memory, a hundred bytes each; the database compares them every two seconds. */
const MAX_TERMINALS = 100_000;

/** The terminals of acquirers: the name in tokens, and the name at the switch. */
export const TERMINAL_SETTINGS: SettingsTable<NewTerminal, StoredTerminal> = {
  kind: 'terminal',
  table: 'terminals',
  key: { name: 'xTid', column: 'x_tid', from: 'settings' },
  namedBy: ['tid', 'mid', 'merchant_id'],
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
