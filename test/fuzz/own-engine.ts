/**
 * For systems on which libFuzzer does not load: Jazzer.js's instrumentation (edge counters, and the constants of
 * comparisons) with this project's own search.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CompareTracer } from './compare-tracer.ts';
import { type FuzzJob, type FuzzTarget, MAX_INPUT_BYTES } from './fuzz-target.ts';
import { type GuidedProgram, GuidedSearch } from './guided-search.ts';
import { Watchdog } from './watchdog.ts';

const PROGRESS_MS = 5_000;

/**
 * Fuzzes until the time is over or an invariant is violated. True if there was a finding; it is printed and its input
 * written.
 */
export async function fuzzWithOwnEngine({ targetUrl, seconds, seed, corpus, findings }: FuzzJob): Promise<boolean> {
  const watchdog = new Watchdog(findings);
  const search = new GuidedSearch(await instrumented(targetUrl, watchdog, seed), seed);
  const deadline = performance.now() + seconds * 1_000;
  let nextProgress = 0;
  let input: Uint8Array = new Uint8Array();
  try {
    for (const file of readdirSync(corpus).sort()) {
      input = readFileSync(join(corpus, file)).subarray(0, MAX_INPUT_BYTES);
      search.try(input);
    }
    for (let now = performance.now(); now < deadline; now = performance.now()) {
      if (now >= nextProgress) {
        printProgress(search);
        nextProgress = now + PROGRESS_MS;
      }
      input = search.next();
      if (search.try(input)) writeFileSync(join(corpus, sha1(input)), input);
    }
  } catch (error) {
    const path = `${findings}crash-${sha1(input)}`;
    writeFileSync(path, input);
    console.error(error);
    console.error(`a promise was broken by ${path}`);
    return true;
  } finally {
    printProgress(search);
    await watchdog.stop();
  }
  return false;
}

/** The target with edge counters and traced comparisons in all code below `src/`. */
async function instrumented(targetUrl: string, watchdog: Watchdog, seed: number): Promise<GuidedProgram> {
  const tracer = new CompareTracer();
  const counters: Uint8Array[] = [];
  const createModuleCounters = (edges: number) => {
    const block = new Uint8Array(edges);
    counters.push(block);
    return block;
  };
  // The names that Jazzer.js's loader writes into the code.
  Object.assign(globalThis, {
    Fuzzer: { tracer, coverageTracker: { createModuleCounters } },
    __jazzer_registerSourceMap: () => {},
  });
  register(jazzerLoader(), { data: { includes: ['/src/'], excludes: ['node_modules'], coverage: false, seed } });
  const { fuzz }: FuzzTarget = await import(targetUrl);
  if (counters.length === 0) throw new Error('nothing under src/ was instrumented');
  const run = (input: Uint8Array) => {
    watchdog.begin(input);
    fuzz(Buffer.from(input));
    watchdog.end();
  };
  return { run, counters, tokens: tracer.tokens };
}

/** Its instrumentor is next to @jazzer.js/core, whose main file would load libFuzzer. */
function jazzerLoader(): string {
  const core = createRequire(import.meta.url).resolve('@jazzer.js/core/package.json');
  const instrumentor = createRequire(core).resolve('@jazzer.js/instrumentor/package.json');
  return pathToFileURL(join(dirname(instrumentor), 'dist/esm-loader.mjs')).href;
}

function printProgress({ runs, edges, corpus }: GuidedSearch): void {
  console.log(`${runs} runs, ${edges} edges, ${corpus.length} inputs that reached something new`);
}

function sha1(bytes: Uint8Array): string {
  return createHash('sha1').update(bytes).digest('hex');
}
