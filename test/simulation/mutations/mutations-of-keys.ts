import type { Mutation } from './mutation.ts';

const KEYS = { by: 'histories of keys' } as const;
const WORKING_KEYS = 'src/switching/switches/working-keys.ts';
const STORED_KEYS = 'src/store/switches/exchanged-keys.ts';
const KEY_EXCHANGE = 'src/switching/switches/key-exchange.ts';

/** Which key is used, and how often: the switch judges. */
export const MUTATIONS_OF_KEYS: readonly Mutation[] = [
  {
    name: 'a PIN block is accepted twice',
    file: 'src/store/transactions/commit-pin-attempts.ts',
    before: `    and x.id not in (select f."usedIn" from foreign_uses f)\n`,
    after: '',
    meaning: 'a client that has seen a PIN block submits it for another tap',
    hunt: { by: 'comparison with Postgres' },
  },
  {
    name: 'the configured key returns',
    file: WORKING_KEYS,
    before: "keyId !== undefined && this.#endOf(use, keyId) === null ? 'configured'",
    after: "keyId !== undefined ? 'configured'",
    meaning: 'without a usable exchanged key, PINs leave under the key of the configuration',
    hunt: KEYS,
  },
  {
    name: 'announcements of one moment end each other',
    file: STORED_KEYS,
    before: "  select announced_at - $5 * interval '1 s'",
    after: "  select announced_at + $5 * interval '0 s'",
    meaning: 'of two keys that are announced at one moment, the one that the switch considers the later ends',
    hunt: KEYS,
  },
  {
    name: 'a start trusts an unrecorded response',
    file: WORKING_KEYS,
    before: '      if (keys.#unacknowledged(use)) keys.#doubtedAtStart',
    after: '      if (keys.#unacknowledged(use) && use === undefined) keys.#doubtedAtStart',
    meaning: 'a process that died between its 00 and the record of it uses the previous PIN key after its restart',
    hunt: KEYS,
  },
  {
    name: 'a replayed announcement is a new one',
    file: STORED_KEYS,
    before: '        if (known.length > 0) {',
    after: '        if (known.length > 1_000) {',
    also: [
      {
        file: STORED_KEYS,
        before: "kcv) values ($1, $2, $3, $4)'",
        after: "kcv) values ($1, $2, $3, $4) on conflict do nothing'",
      },
    ],
    meaning: 'a retired key comes back by a replayed announcement',
    hunt: KEYS,
  },
  {
    name: 'keys that were not read for long are used',
    file: WORKING_KEYS,
    before: '> this.#overlapMs - LEAVES_WITHIN_MS;',
    after: '> this.#overlapMs + 1_000_000_000;',
    meaning: 'a process that does not learn of a new key sends messages under one that the switch has retired',
    hunt: KEYS,
  },
  {
    name: 'a doubtful key is used',
    file: WORKING_KEYS,
    before: 'this.#overlapMs) < LEAVES_WITHIN_MS;',
    after: 'this.#overlapMs) < -1_000_000_000;',
    meaning: 'a key is used although the switch may have ended it: a response was lost, or two keys came at one moment',
    hunt: KEYS,
  },
  {
    name: 'messages under a key need no time to leave',
    file: WORKING_KEYS,
    before: 'const LEAVES_WITHIN_MS = 8_000;',
    after: 'const LEAVES_WITHIN_MS = 0;',
    meaning: 'a PIN that waits for its slot leaves under a key that the switch has ended meanwhile',
    hunt: KEYS,
  },
  {
    name: 'a response on a lost connection has arrived',
    file: KEY_EXCHANGE,
    before: 'last.atMs < RESPONSE_SETTLED_MS;',
    after: 'last.atMs < -RESPONSE_SETTLED_MS;',
    meaning: 'the switch does not know that the gateway has its key, and no other one is requested',
    hunt: KEYS,
  },
];
