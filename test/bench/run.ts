/**
 * `npm run bench -- NAME [--json FILE] [options of that benchmark]`: one file per benchmark, each exports
 * `bench`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface Bench {
  /**
   * @param closers called at the end, the last one first
   * @param folder of its own, removed at the end
   * @returns its figures, for the file of `--json`
   */
  readonly bench: (options: BenchOptions, closers: (() => unknown)[], folder: string) => unknown;
}

const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  tlv: () => import('./tlv.ts'),
  iso8583: () => import('./iso8583.ts'),
  'card-data': () => import('./card-data.ts'),
  mac: () => import('./mac.ts'),
  connection: () => import('./connection.ts'),
  e2e: () => import('./e2e.ts'),
  hsm: () => import('./hsm.ts'),
  profile: () => import('./profile.ts'),
  idle: () => import('./idle.ts'),
  day: () => import('./day.ts'),
  compare: () => import('./compare.ts'),
  overload: () => import('./overload.ts'),
  soak: () => import('./soak.ts'),
  connections: () => import('./new-connections.ts'),
  load: () => import('./load-generator.ts'),
  messages: () => import('./kept-messages.ts'),
  'webhook-backlog': () => import('./webhook-backlog.ts'),
  'reversal-backlog': () => import('./reversal-backlog.ts'),
  'verify-ledger': () => import('./verify-ledger.ts'),
  index: () => import('./index-under-load.ts'),
  seed: () => import('./seed.ts'),
  http: () => import('./http.ts'),
};

export interface BenchOptions {
  /** How long each round of a load lasts; for `overload` and `soak` the whole run. */
  readonly seconds?: number | undefined;
  readonly rounds?: number | undefined;
  /** The folder of another checkout; `compare`. */
  readonly against?: string | undefined;
  /** How many processes of the gateway share the load; `e2e`, `profile`, `compare`, `overload` and `soak`. */
  readonly gateways?: number | undefined;
  /** `software` or `simulated`: taps have PINs, and messages MACs; `e2e`. */
  readonly hsm?: string | undefined;
  /** `none`: taps have no webhooks, as in figures from before they had; `e2e`. */
  readonly webhooks?: 'none' | undefined;
  /** Taps per second instead of half of the full load (`e2e`, `compare`) or of three times the capacity (`overload`, `connections`). */
  readonly rate?: number | undefined;
  /** The number of transactions in the database; `http`, `index` and `seed`. */
  readonly rows?: number | undefined;
  /** The folder of that database, kept for the next run. */
  readonly data?: string | undefined;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    against: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    gateways: { type: 'string' },
    hsm: { type: 'string' },
    webhooks: { type: 'string' },
    rate: { type: 'string' },
    rows: { type: 'string' },
    data: { type: 'string' },
  },
});
const load = BENCHES[positionals[0] ?? ''];
if (!load) {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')} [--json FILE] [--seconds N] [--rounds N]`);
  process.exit(2);
}
if (values.webhooks !== undefined && values.webhooks !== 'none') {
  console.error(`--webhooks ${values.webhooks}: expected none`);
  process.exit(2);
}
const { bench } = await load();
const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
const options: BenchOptions = {
  against: values.against,
  hsm: values.hsm,
  webhooks: values.webhooks,
  rate: number(values.rate),
  seconds: number(values.seconds),
  rounds: number(values.rounds),
  gateways: number(values.gateways),
  rows: number(values.rows),
  data: values.data,
};
const folder = mkdtempSync(join(tmpdir(), 'tapwire-bench-'));
const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
try {
  const figures = await bench(options, closers, folder);
  if (values.json && figures !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  for (const close of closers.reverse()) await close();
}
