/**
 * `npm run fuzz -- http [--seconds N] [--seed N]`: requests with one strange element, to every route of a gateway.
 * `npm run fuzz -- tlv|iso8583 [--seconds N] [--seed N] [--engine jazzer|own] [--input FILE]`: coverage-guided fuzzing
 * of one parser. It starts from the vectors, keeps its corpus in `.tapwire/fuzz`, and exits with 77 and a file if an
 * input violates an invariant; `--input` runs such a file again.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { FuzzTarget } from './fuzz-target.ts';

const TARGETS = ['http', 'tlv', 'iso8583'];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 0x7ffffffe)) },
    engine: { type: 'string' },
    input: { type: 'string' },
  },
});
const name = positionals[0] ?? '';
const seconds = Number(values.seconds);
if (positionals.length !== 1 || !TARGETS.includes(name) || !(seconds > 0)) {
  console.error(
    `usage: npm run fuzz -- ${TARGETS.join('|')} [--seconds N] [--seed N] [--engine jazzer|own] [--input FILE]`,
  );
  process.exit(2);
}

const targetUrl = new URL(`${name}.ts`, import.meta.url).href;
if (name === 'http') {
  process.exitCode = requestRoutes();
} else if (values.input !== undefined) {
  const { fuzz }: FuzzTarget = await import(targetUrl);
  fuzz(readFileSync(values.input));
  console.log('no finding');
} else {
  // Before either engine adds its own hook, which then sees JavaScript.
  register('./load-typescript.ts', import.meta.url);
  const job = { targetUrl, seconds, seed: Number(values.seed), ...folders() };
  const run = values.engine === 'own' ? undefined : await jazzer();
  const found = run === undefined ? await (await import('./own-engine.ts')).fuzzWithOwnEngine(job) : await run(job);
  if (!found) console.log(`no promise was broken in ${seconds} s (seed ${job.seed})`);
  process.exitCode = found ? 77 : 0;
}

/** Uses the gateway, the database and the switch of a test. */
function requestRoutes(): number {
  const environment = { ...process.env, HTTP_FUZZ_SECONDS: String(seconds), HTTP_FUZZ_SEED: values.seed };
  const vitest = resolve(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');
  const words = [vitest, 'run', '--project', 'searches', 'test/security/strange-requests.test.ts'];
  const { status } = spawnSync(process.execPath, words, { env: environment, stdio: 'inherit' });
  if (status === 0) console.log(`no route broke in ${seconds} s (seed ${values.seed})`);
  return status === 0 ? 0 : 77;
}

/** Jazzer.js with libFuzzer, or undefined if its native part does not load. */
async function jazzer() {
  try {
    return (await import('./jazzer-engine.ts')).fuzzWithJazzer;
  } catch (error) {
    if (values.engine === 'jazzer') throw error;
    console.log(
      `Jazzer.js's libFuzzer does not load on this machine: ${error instanceof Error ? error.message.split('\n')[0] : error}`,
    );
    console.log(
      'Continuing with its instrumentation and the engine of this project: also coverage-guided, with simpler mutations.',
    );
    return undefined;
  }
}

/** `.tapwire/fuzz/<name>`: a corpus that begins with the vectors, and a folder for findings. */
function folders(): { corpus: string; findings: string } {
  const folder = resolve(import.meta.dirname, '../../.tapwire/fuzz', name);
  const corpus = join(folder, 'corpus');
  mkdirSync(corpus, { recursive: true });
  const vectors: { wireHex: string }[] = JSON.parse(
    readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'),
  );
  for (const { wireHex } of vectors) {
    const bytes = Buffer.from(wireHex, 'hex');
    writeFileSync(join(corpus, createHash('sha1').update(bytes).digest('hex')), bytes);
  }
  return { corpus, findings: `${folder}/` };
}
