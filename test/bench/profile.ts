/**
 * Where the processor time of a tap goes, at full and at half load: by function of one of the gateway's processes, and by
 * statement of Postgres.
 */
import { Profiler, type Sampled } from './cpu-profile.ts';
import { CONNECTIONS, GATEWAYS, MAX_PER_SECOND, startParts } from './e2e.ts';
import { checked, type LoadResult, saturate, sustain } from './http-load.ts';
import type { BenchOptions } from './run.ts';
import { forgetStatements, labelOf, readStatements, type Statement } from './statement-cost.ts';
import { childrenOf, costPerTap, readUsage } from './tap-cost.ts';

const SECONDS = 10;
const WARM_UP_SECONDS = 20;
const FUNCTIONS = 40;
const STATEMENTS = 20;
/** V8 reports these natives without a file. */
const SOCKET_WRITES = /^(writev|writeBuffer|writeUtf8String|writeLatin1String)$/;
const CIPHERS = /Cipher|Hash|Hmac|Digest|digest|Random|^(init|update|final|setAAD|getAuthTag|setAuthTag)$/;

interface Part {
  readonly taps: number;
  readonly perSecond: number;
  readonly gatewayUs: number;
  readonly postgresUs: number;
  readonly functions: readonly Sampled[];
  readonly statements: readonly Statement[];
}

export async function bench(
  { seconds = SECONDS, gateways = GATEWAYS, webhooks, rate }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const hasWebhooks = webhooks !== 'none';
  const parts = await startParts(folder, closers, { gateways, hasWebhooks });
  const { database, gatewayPort, taps, pids } = parts;
  await taps.prepare(WARM_UP_SECONDS * MAX_PER_SECOND);
  const warm = checked(await saturate([gatewayPort], CONNECTIONS, WARM_UP_SECONDS, taps.next));
  await parts.webhooks?.untilTaken(warm.responded);
  const profiler = await Profiler.attach(childrenOf(pids.gateway!)[0] ?? pids.gateway!);
  closers.push(() => profiler.close());
  const measure = async (load: () => Promise<LoadResult>): Promise<Part> => {
    await taps.prepare(seconds * MAX_PER_SECOND);
    await forgetStatements(database);
    const before = await readUsage(database, pids);
    await profiler.start();
    await parts.webhooks?.forget();
    const { responded, perSecond } = checked(await load());
    await parts.webhooks?.untilTaken(responded);
    const functions = await profiler.stop();
    const { microseconds } = costPerTap(before, await readUsage(database, pids), responded);
    const statements = await readStatements(database);
    const { gateway: gatewayUs = 0, Postgres: postgresUs = 0 } = microseconds;
    return { taps: responded, perSecond, gatewayUs, postgresUs, functions, statements };
  };
  const full = await measure(() => saturate([gatewayPort], CONNECTIONS, seconds, taps.next));
  const half = await measure(() => sustain([gatewayPort], CONNECTIONS, seconds, rate ?? warm.perSecond / 2, taps.next));
  print(full, half, gateways);
  return { full, half };
}

function print(full: Part, half: Part, gateways: number): void {
  const head = (part: Part) => `${part.perSecond.toFixed(0)} taps/s`;
  console.log(`
${gateways} gateway processes, one of them sampled; µs of processor time per tap

| | Full load, ${head(full)} | Half load, ${head(half)} |
|---|---|---|
| Gateway, all threads of all processes | ${full.gatewayUs.toFixed(0)} | ${half.gatewayUs.toFixed(0)} |
| Postgres | ${full.postgresUs.toFixed(0)} | ${half.postgresUs.toFixed(0)} |

Main thread by area

| | Full load | Half load |
|---|---|---|
${rowsOf(full, half, gateways, areaOf, Number.POSITIVE_INFINITY)}

Main thread by function

| | Full load | Half load |
|---|---|---|
${rowsOf(full, half, gateways, functionOf, FUNCTIONS)}

Statements of Postgres

| | Full load: calls, µs, bytes of log | Half load |
|---|---|---|
${statementRows(full, half)}
`);
}

function rowsOf(full: Part, half: Part, gateways: number, key: (sampled: Sampled) => string, most: number): string {
  const sums = (part: Part) => {
    const byKey = new Map<string, number>();
    for (const sampled of part.functions) {
      const perTap = (sampled.microseconds * gateways) / part.taps;
      byKey.set(key(sampled), (byKey.get(key(sampled)) ?? 0) + perTap);
    }
    return byKey;
  };
  const [atFull, atHalf] = [sums(full), sums(half)];
  return [...atFull]
    .sort(([, one], [, other]) => other - one)
    .slice(0, most)
    .map(([name, us]) => `| ${name} | ${us.toFixed(1)} | ${(atHalf.get(name) ?? 0).toFixed(1)} |`)
    .join('\n');
}

function statementRows(full: Part, half: Part): string {
  const [atFull, atHalf] = [byLabel(full), byLabel(half)];
  const cell = (part: Part, sum: Sum | undefined) => {
    const per = (value = 0, digits = 0) => (value / part.taps).toFixed(digits);
    return `${per(sum?.calls, 3)}, ${per(sum?.microseconds, 1)}, ${per(sum?.walBytes)}`;
  };
  return [...atFull]
    .sort(([, one], [, other]) => other.microseconds - one.microseconds)
    .slice(0, STATEMENTS)
    .map(([label, sum]) => `| ${label} | ${cell(full, sum)} | ${cell(half, atHalf.get(label))} |`)
    .join('\n');
}

type Sum = Omit<Statement, 'text'>;

function byLabel({ statements }: Part): Map<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const { text, ...own } of statements) {
    const known = sums.get(labelOf(text)) ?? { calls: 0, microseconds: 0, walBytes: 0 };
    const add = (key: keyof Sum) => known[key] + own[key];
    sums.set(labelOf(text), { calls: add('calls'), microseconds: add('microseconds'), walBytes: add('walBytes') });
  }
  return sums;
}

function functionOf({ name, file }: Sampled): string {
  return `${name || '(anonymous)'} ${shortFile(file)}`.trim();
}

function shortFile(file: string): string {
  return file.replace(/^.*\/node_modules\//, '').replace(/^.*\/(src|processors|schemas)\//, '$1/');
}

/** The part of the gateway, the package or the part of Node. */
function areaOf({ name, file }: Sampled): string {
  if (file === '') {
    if (SOCKET_WRITES.test(name)) return 'writes to sockets';
    return CIPHERS.test(name) ? 'ciphers and hashes' : name === '(garbage collector)' ? 'garbage' : 'native functions';
  }
  if (file.startsWith('node:')) return file.startsWith('node:internal/crypto') ? 'ciphers and hashes' : 'Node';
  const short = shortFile(file);
  const [top, area] = short.split('/');
  if (/\/node_modules\//.test(file)) return `package ${top!.startsWith('@') ? `${top}/${area}` : top}`;
  return top === 'src' ? `src/${area}` : top!;
}
