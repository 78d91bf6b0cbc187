import { createApiKey } from '../../src/auth/api-key.ts';
import { insertApiKey } from '../../src/store/api-keys.ts';
import type { Database } from '../../src/store/open-database.ts';
import { seededId } from '../support/seed-transactions.ts';

/** A route to be measured, and its requests: each is another one, so that no cache answers for it. */
export interface BenchRoute {
  readonly name: string;
  readonly next: () => Buffer;
}

/** Merchant m0 has a fifth of all rows; see seed-transactions.ts. */
const LARGEST_MERCHANT = 'm0';

export async function httpRoutes(database: Database, _port: number, rows: number): Promise<BenchRoute[]> {
  const owner = { acquirerId: 1 };
  const { text, record } = createApiKey({
    mode: 'test',
    owner,
    scopes: ['transactions:read', 'payments:create'],
    name: 'bench',
    expiresAtMs: null,
  });
  await insertApiKey(database, record);
  const key = { 'x-api-key': text.reveal() };
  const ids = await someIds(database, rows);
  let turn = 0;
  const inTurn = (paths: readonly string[]) => () => get(paths[turn++ % paths.length]!, key);
  return [
    { name: 'detail', next: inTurn(ids.map((id) => `/transactions/${id}`)) },
    { name: 'list, 100 of a merchant', next: inTurn([`/transactions?merchant=${LARGEST_MERCHANT}&limit=100`]) },
    { name: 'list, 100 of the acquirer', next: inTurn(['/transactions?limit=100']) },
    {
      name: 'list, 100 declines of a merchant',
      next: inTurn([`/transactions?merchant=${LARGEST_MERCHANT}&transactionDisposition=Declined`]),
    },
    {
      name: 'list, 100 of a user',
      next: inTurn([0, 1, 2, 3, 4, 5, 6].map((user) => `/transactions?user=till-${user}`)),
    },
    {
      name: 'list, by reference',
      next: inTurn(ids.map((_, index) => `/transactions?merchantReference=order-${1 + ((index * 7919) % rows)}`)),
    },
  ];
}

/** Spread over the whole table: most of their pages are not in memory because somebody else just read them. */
async function someIds(database: Database, rows: number): Promise<string[]> {
  const { rows: found } = await database.query<{ id: string }>(
    `select ${seededId('(1 + (i * 7919::bigint) % $1::bigint)')} as id from generate_series(1, 5000) i`,
    [rows],
  );
  return found.map(({ id }) => id);
}

function get(path: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: bench\r\n${lines.join('')}\r\n`);
}
