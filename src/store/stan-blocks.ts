import { GroupCommit } from './group-commit.ts';
import type { Database } from './open-database.ts';

/** STANs run from 000001 to 999999 (ISO 8583:1987, DE11). */
const LAST_STAN = 999_999;
/** Numbers a process takes at once: a terminal rarely needs more in a minute, and a crash wastes no more than these. */
const BLOCK_SIZE = 100;
/** Scopes whose blocks a process holds; the least recently opened ones are given up beyond it, their numbers unused. */
const MAX_SCOPES = 50_000;

/**
 * Systems trace audit numbers, unique within their scope: taken from the database in blocks, so that a crash loses
 * numbers and repeats none. The counter runs on past 999999; the STAN is its remainder.
 */
export class StanBlocks {
  readonly #reserve: GroupCommit<string, number>;
  readonly #blocks = new Map<string, Promise<Block>>();

  constructor(database: Database) {
    this.#reserve = new GroupCommit<string, number>(database, {
      keyOf: (scope) => scope,
      write: async (client, scopes) => {
        const { rows } = await client.query<{ scope: string; next: number }>({
          name: 'reserve-stans',
          text: RESERVE,
          values: [scopes, BLOCK_SIZE],
        });
        const next = new Map(rows.map((row) => [row.scope, row.next]));
        return scopes.map((scope) => next.get(scope)! - BLOCK_SIZE);
      },
    });
  }

  /** Six digits. @throws StoreUnavailable when a new block is needed and the database is away */
  async next(scope: string): Promise<string> {
    for (;;) {
      const block = await (this.#blocks.get(scope) ?? this.#openBlock(scope));
      if (block.left > 0) return stanText(block.first + BLOCK_SIZE - block.left--);
      this.#blocks.delete(scope);
    }
  }

  #openBlock(scope: string): Promise<Block> {
    if (this.#blocks.size >= MAX_SCOPES) this.#blocks.delete(this.#blocks.keys().next().value!);
    const opening = this.#reserve.submit(scope).then((first) => ({ first, left: BLOCK_SIZE }));
    this.#blocks.set(scope, opening);
    opening.catch(() => this.#blocks.delete(scope));
    return opening;
  }
}

interface Block {
  readonly first: number;
  left: number;
}

function stanText(counter: number): string {
  return String((counter % LAST_STAN) + 1).padStart(6, '0');
}

const RESERVE = `insert into stan_blocks as b (scope, next_value) select scope, $2 from unnest($1::text[]) as scope
  on conflict (scope) do update set next_value = b.next_value + $2 returning scope, next_value as next`;
