import type { Database } from '../../store/postgres/open-database.ts';
import { saveMerchants, saveTerminals } from '../../store/settings/tenants.ts';
import type { Profile } from '../phone/profile.ts';

/**
 * Enough that no merchant, terminal or token is used more intensively than in a real installation; few enough to be
 * created quickly.
 */
export const LOAD_MERCHANTS = 200;

/** Ids from here on are free for merchants of load tests. */
const FIRST_ID = 90_001;

interface LoadTenant {
  readonly acquirerId: number;
  readonly integratorId: number;
  /** Of the merchants, if not the usual one: two acquirers of one switch have different terminals. */
  readonly firstId?: number;
}

const PLACE = {
  street: '1 Long Street',
  city: 'Cape Town',
  country: 'ZA',
  currency: 'ZAR',
  timeZone: 'Africa/Johannesburg',
};

/**
 * Creates merchants for load tests, each with its own terminal, under one integrator whose key signs for all of them.
 * Can be repeated.
 */
export async function saveLoadMerchants(
  database: Database,
  { acquirerId, integratorId, firstId = FIRST_ID }: LoadTenant,
): Promise<Profile['merchant'][]> {
  const merchants = Array.from({ length: LOAD_MERCHANTS }, (_, index) => {
    const id = String(firstId + index);
    return { id, name: `Load Test ${id}`, mcc: '5411', xTid: `LOAD${id}`, user: 'till' };
  });
  await saveMerchants(
    database,
    merchants.map(({ id, name, mcc }) => ({ acquirerId, id, integratorId, name, mcc, ...PLACE })),
  );
  await saveTerminals(
    database,
    merchants.map(({ id, xTid }) => ({
      acquirerId,
      xTid,
      tid: `TL0${id}`,
      mid: `LOADTEST00${id}`,
      canTakePin: true,
      merchantId: id,
    })),
  );
  return merchants;
}
