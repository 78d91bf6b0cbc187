import { openPool } from '../../../src/store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../../../src/store/postgres/session-limits.ts';

/** Run by a test on a far host: opens sessions as a gateway does, one of them with a locked row, and holds them. */
const pool = openPool(process.argv[2]!, { limits: { ...SESSION_LIMITS.tap, heldMs: 3_600_000 } });
const [locking, listening] = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
await locking.query('begin');
await locking.query('select from held for update');
await listening.query('listen held');
console.log('held');
setInterval(() => {}, 60_000);
