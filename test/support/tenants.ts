import { randomUUID } from 'node:crypto';
import { createApiKey } from '../../src/auth/api-key.ts';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';
import { insertApiKey } from '../../src/store/credentials/api-keys.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import {
  saveAcquirer,
  saveIntegrator,
  saveIssuerKey,
  saveMerchants,
  saveProcessor,
  saveRoute,
  saveTerminals,
  saveUser,
} from '../../src/store/settings/tenants.ts';
import type { Profile } from '../../src/tools/phone/profile.ts';
import { createTokenIssuer } from './token-issuer.ts';

const hoursToNoon = 12 - new Date().getUTCHours();
/**
 * A time zone in which it is about noon. Tests let time pass, and a sale of half an hour ago must belong to today, at
 * any hour of the run. (The signs of these zones are those of POSIX: Etc/GMT-2 is two hours ahead.)
 */
const MIDDAY = `Etc/GMT${hoursToNoon > 0 ? '-' : '+'}${Math.abs(hoursToNoon)}`;

/**
 * Two acquirers. The first has two integrators, the first of which has two merchants; the second acquirer has a
 * merchant with the same id as one of the first's. The merchants of one acquirer share a time zone, because its simulated
 * switch responds with their date: a sale of one that is a day ahead would settle the sales of the others.
 */
export const MERCHANTS = {
  coffee: { acquirerId: 1, integratorId: 10, id: '1001', name: 'Corner Coffee', timeZone: MIDDAY },
  bakery: { acquirerId: 1, integratorId: 10, id: '1002', name: 'Brown Bread', timeZone: MIDDAY },
  flowers: { acquirerId: 1, integratorId: 11, id: '1101', name: 'Fresh Flowers', timeZone: MIDDAY },
  tailor: { acquirerId: 2, integratorId: 20, id: '1001', name: 'Tight Trousers', timeZone: 'Asia/Tokyo' },
} as const;

export type MerchantName = keyof typeof MERCHANTS;

/** The switch that receives an acquirer's taps. */
export interface TestSwitch {
  readonly type: string;
  readonly config: object;
}

export const ROUTE_ID = 100;
const PROCESSOR_ID = 1;
/** The only known user; other user ids pass through. */
export const USER = { id: '0b6f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11', username: 'till@coffee.example' };

/** The credentials of a set-up: created once, for every gateway on its database. */
export interface Tenants {
  /** What a client of this merchant's backend needs for a gateway at `url`. */
  profile(merchant: MerchantName, url: string): Profile;
  /** An API key that reads, refunds and voids the transactions of `owner`, and manages its webhooks. */
  apiKey(owner: Tenant): Promise<string>;
}

/** Writes the tenants, a terminal for each merchant, and a route to `target` for both acquirers. */
export async function saveTenants(database: Database, target: TestSwitch): Promise<Tenants> {
  for (const acquirerId of [1, 2]) await saveAcquirer(database, acquirerId, `Acquirer ${acquirerId}`);
  const issuers = new Map<number, Profile['issuer']>();
  for (const [acquirerId, id] of [
    [1, 10],
    [1, 11],
    [2, 20],
  ] as const) {
    const issuer = createTokenIssuer(`https://integrator-${id}.example`, `key-${id}`);
    issuers.set(id, issuer);
    await saveIntegrator(database, acquirerId, id, `Integrator ${id}`);
    const { iss, kid, algorithm, publicKey } = issuer;
    const owner = { acquirerId, integratorId: id };
    await saveIssuerKey(database, { issuer: iss, kid, ...owner, algorithms: [algorithm], publicKey });
  }
  await saveMerchantsAndTerminals(database);
  for (const acquirerId of [1, 2]) {
    await saveProcessor(database, { acquirerId, id: PROCESSOR_ID, ...target });
    await saveRoute(database, { acquirerId, id: ROUTE_ID, processorId: PROCESSOR_ID, priority: 1 });
  }
  const user = { acquirerId: 1, merchantId: MERCHANTS.coffee.id, ...USER };
  await saveUser(database, { ...user, passwordHash: 'no login possible', role: 'operator' });
  return {
    profile: (merchant, url) => profileOf(merchant, url, issuers.get(MERCHANTS[merchant].integratorId)!),
    apiKey: (owner) => createKey(database, owner),
  };
}

export function xTidOf(merchant: MerchantName): string {
  return `TERM-${merchant}`;
}

async function saveMerchantsAndTerminals(database: Database): Promise<void> {
  const place = { street: '1 Long Street', city: 'Cape Town', country: 'ZA', currency: 'ZAR', mcc: '5814' };
  await saveMerchants(
    database,
    Object.values(MERCHANTS).map((merchant) => ({ ...merchant, ...place })),
  );
  await saveTerminals(
    database,
    Object.entries(MERCHANTS).map(([name, { acquirerId, id }]) => ({
      acquirerId,
      xTid: xTidOf(name as MerchantName),
      tid: `TW${acquirerId}${id.padStart(5, '0')}`,
      mid: `TEST${id.padStart(11, '0')}`,
      canTakePin: true,
      merchantId: id,
    })),
  );
}

function profileOf(name: MerchantName, url: string, issuer: Profile['issuer']): Profile {
  const merchant = MERCHANTS[name];
  const user = name === 'coffee' ? USER.username : `till@${name}.example`;
  return {
    url,
    apiKey: '',
    login: { username: '', password: '' },
    acquirerId: merchant.acquirerId,
    merchant: { id: merchant.id, name: merchant.name, mcc: '5814', xTid: xTidOf(name), user },
    issuer,
  };
}

async function createKey(database: Database, owner: Tenant): Promise<string> {
  const scopes = ['transactions:read', 'transactions:refund', 'webhooks:manage', 'payments:create'];
  const wanted = { mode: 'test', owner, scopes, name: randomUUID(), expiresAtMs: null } as const;
  const { text, record } = createApiKey(wanted);
  await insertApiKey(database, record);
  return text.reveal();
}
