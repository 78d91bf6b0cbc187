import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { LoadError } from '../../basics/errors.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { saveMerchants, saveTerminals } from '../../store/settings/tenants.ts';
import { type Profile, profile } from '../phone/profile.ts';

/** More merchants than any acquirer's test system has; each requires at least a token. */
const MAX_MERCHANTS = 100_000;

const { url, issuer, merchant, apiKey } = profile.shape;

/**
 * The identities with which a load test sends requests, and other sources that it may read. Contains secrets; written
 * with mode 0600.
 */
const loadProfile = z.object({
  url,
  issuer,
  merchants: z.array(merchant).min(1).max(MAX_MERCHANTS),
  /** Of an integrator that may create payments and read transactions; for links. */
  apiKey: apiKey.optional(),
  /** A terminal whose switch has a short deadline, for taps to which no switch responds. */
  shortDeadlineTerminal: z.string().optional(),
  /** The ledgers of simulated switches, and the database of the gateway to compare them with. */
  books: z
    .object({
      ledgerUrls: z.array(z.url()).min(1),
      databaseUrl: z.string(),
      /** Earlier submissions are not in the ledger. */
      since: z.iso.datetime(),
    })
    .optional(),
  /** Process ids on this machine, by name of the part. */
  processes: z.record(z.string(), z.int().positive()).optional(),
});

export type LoadProfile = z.infer<typeof loadProfile>;

/**
 * Reads a profile of a load test, or that of a single phone (`demo.json`).
 *
 * @throws LoadError BAD_FILE
 */
export function readLoadProfile(path: string): LoadProfile {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const one = profile.safeParse(value);
    if (!one.success) return loadProfile.parse(value);
    const { merchant: only, url, issuer, apiKey } = one.data;
    return { url, issuer, apiKey, merchants: [only] };
  } catch (cause) {
    throw new LoadError(
      'BAD_FILE',
      `There is no usable profile at ${path}: run npm start first, or name one with --profile.`,
      { cause },
    );
  }
}

export function writeLoadProfile(path: string, value: LoadProfile): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}

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

/** Where merchants of demos and load tests are. */
export const PLACE = {
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
