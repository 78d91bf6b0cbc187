import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../../basics/errors.ts';
import { type Repetition, repeatEvery } from '../../basics/limits/waits.ts';
import type { KeyRing } from '../../card/key-ring.ts';
import type { Database } from '../postgres/open-database.ts';

/** While no acquirer is moved. */
const LOOK_EVERY_MS = 2_000;
/** While one is moved: the time in which processes close and open connections is part of the time without taps. */
const LOOK_OFTEN_MS = 40;
/** After the last change, this cell may still be signing on to the switches of an acquirer that has arrived. */
const OFTEN_FOR_MS = 15_000;

export interface CellWatchOptions {
  readonly database: Database;
  /** Name of the cell. */
  readonly name: string;
  /** The keys that this process has loaded. */
  readonly keys: () => readonly string[];
  /** Called when the acquirers that this cell serves have changed. */
  readonly onChange: () => Promise<void>;
  /** Called at each look with the acquirers that were ever moved and are served here. */
  readonly onServed: (acquirers: readonly number[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

interface Look {
  readonly isMoving: boolean;
  readonly elsewhere: readonly number[];
  readonly served: readonly number[];
}

const LOOK = `
select coalesce(bool_or(state not in ('serving', 'gone') or changed_at > clock_timestamp() - interval '${OFTEN_FOR_MS} ms'), false) as "isMoving",
  coalesce(array_agg(acquirer_id order by acquirer_id) filter (where acquirer_id in (select e.acquirer_id from served_elsewhere e)), '{}') as elsewhere,
  coalesce(array_agg(acquirer_id) filter (where state in ('serving', 'finishing', 'leaving')), '{}') as served
from acquirer_cells`;

/** Follows which acquirers this cell serves: seldom, and often while one is moved. */
export class CellWatch {
  readonly #options: CellWatchOptions;
  #elsewhere: string | undefined;
  #keys = '';
  #often = false;
  readonly #repetition: Repetition;

  private constructor(options: CellWatchOptions) {
    this.#options = options;
    this.#repetition = repeatEvery(LOOK_EVERY_MS, () => this.#watch(), options.onError);
  }

  static open(options: CellWatchOptions): CellWatch {
    const watch = new CellWatch(options);
    watch.#keys = options.keys().join();
    watch.#repetition.runSoon();
    return watch;
  }

  async close(): Promise<void> {
    this.#often = false;
    await this.#repetition.stop();
  }

  async #watch(): Promise<void> {
    await this.#keepKeys();
    this.#often = await this.#look();
    while (this.#often) {
      await sleep(LOOK_OFTEN_MS, undefined, { ref: false });
      if (this.#often) this.#often = await this.#look();
    }
  }

  async #look(): Promise<boolean> {
    const { database, onChange, onServed } = this.#options;
    const { rows } = await database.query<Look>({ name: 'look-at-cells', text: LOOK });
    const { isMoving, elsewhere, served } = rows[0]!;
    const known = elsewhere.join();
    if (known !== this.#elsewhere) {
      await onChange();
      this.#elsewhere = known;
    }
    await onServed(served); // also without any: an acquirer that has left is reported no longer
    return isMoving;
  }

  async #keepKeys(): Promise<void> {
    const keys = this.#options.keys();
    if (keys.join() === this.#keys) return;
    await claimName(this.#options.database, this.#options.name, keys);
    this.#keys = keys.join();
  }
}

/** @throws StartError BAD_CONFIG if the database belongs to a cell with another name */
export async function claimName(database: Database, name: string, keys: readonly string[]): Promise<void> {
  const text = `insert into cell_identity (name, keys) values ($1, $2)
    on conflict (is_only) do update set keys = excluded.keys, changed_at = clock_timestamp()
    where cell_identity.name = excluded.name returning name`;
  const { rowCount } = await database.query(text, [name, keys]);
  if (rowCount === 0) throw new StartError('BAD_CONFIG', `CELL_NAME: ${await mismatch(database, name)}`);
}

/** @throws StartError BAD_CONFIG if the database belongs to a cell, because only a process with the name closes its lines for a move */
export async function refuseInCell(database: Database): Promise<void> {
  const { rows } = await database.query<{ name: string }>('select name from cell_identity');
  if (rows[0])
    throw new StartError('BAD_CONFIG', `CELL_NAME: the database belongs to cell ${rows[0].name}; set this name`);
}

async function mismatch(database: Database, name: string): Promise<string> {
  const { rows } = await database.query<{ name: string }>('select name from cell_identity');
  return `the database belongs to cell ${rows[0]?.name}, not to ${name}`;
}

/** Enough to recognize a key; a 256-bit key cannot be found from it. */
const FINGERPRINT_CHARS = 16;

const SECRETS = ['panSealing', 'panHash', 'blobHmac', 'webhookSealing'] as const;

/**
 * Every key of a ring as `<purpose> <id> <fingerprint>`, sorted. A cell can open what another cell has sealed if it has
 * all keys of the other one.
 */
export function keyNames(keys: KeyRing): string[] {
  const secrets = SECRETS.flatMap((purpose) =>
    keys[purpose].all.map(({ id, key }) => `${purpose} ${id} ${fingerprint(key.export())}`),
  );
  const signing = keys.tokenSigning.map(
    ({ kid, publicKey }) => `tokenSigning ${kid} ${fingerprint(publicKey.export({ type: 'spki', format: 'der' }))}`,
  );
  const cards = keys.publicCardDataKeys(0).keys.map(({ kid, x }) => `cardData ${kid} ${fingerprint(x)}`);
  return [...secrets, ...signing, ...cards].sort();
}

function fingerprint(value: string | Uint8Array): string {
  return createHash('sha256').update(value).digest('hex').slice(0, FINGERPRINT_CHARS);
}
