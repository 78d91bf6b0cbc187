import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { StartError } from '../basics/errors.ts';
import { findEntry } from '../kits/plug-ins/load-plug-ins.ts';
import type { Processor, SwitchConfig } from '../kits/processor-kit/index.ts';
import { builtInEntries, loadProcessor } from '../kits/processor-kit/load-processors.ts';
import { readProcessorNames } from '../start/config.ts';
import { checkEvidence, packEvidence } from '../tools/certify/evidence.ts';
import { type CertificationCase, originalOf, type Plan, parsePlan, selectCases } from '../tools/certify/plan.ts';
import { readyPlan } from '../tools/certify/ready-plan.ts';
import { type CaseResult, type CertificationParts, runCases } from '../tools/certify/run-plan.ts';
import { compareRuns, mergeResults, type StoredRun, StoredRuns, sha256 } from '../tools/certify/stored-run.ts';
import { readBytes, readJson, readText, readWords, text } from './arguments.ts';
import { openCertificationGateway } from './certify-gateway.ts';
import { STOP_SIGNALS } from './command-end.ts';
import { DEMO_TYPES, type DemoType, demoSwitchConfig } from './demo/demo-installation.ts';
import { bad, good } from './output.ts';
import { installedTypes } from './plug-ins.ts';

export const USAGE = `usage: tapwire certify PLAN [--against HOST:PORT] [--config FILE] [--only 12,15-20] [--resume RUN]
       tapwire certify plan TYPE [--config FILE]
       tapwire certify runs
       tapwire certify compare RUN RUN
       tapwire certify pack RUN --key FILE --to FILE
       tapwire certify check PACK --key FILE

  PLAN       a file of cases (YAML); tapwire certify plan prints the ready plan of a processor type
  --against  the host under certification; default: the simulated switch, with short deadlines
  --config   the configuration of the switch (tapwire processor example); default: that example
  --only     repeat these cases, and the sales that they refer to
  --resume   continue a run: cases that it has not run, or those of --only
  pack       writes the evidence of a run as a ZIP file: report.html, results as JSON, CSV and JUnit XML, and a signed
             manifest. --key is an Ed25519 key (PEM): openssl genpkey -algorithm ed25519
  check      verifies such a file with the public key

Runs are stored in certify/ of TAPWIRE_DATA, without card data. Ctrl-C keeps what has run. Keys of a real host are
those of HSM_KEYS_FILE. Exit code 0: every case passed; 3: some failed or have not run.`;

const options = { against: text, config: text, only: text, resume: text, key: text, to: text } as const;

/** `tapwire certify`. */
export async function run(args: string[]): Promise<number> {
  const { values, words } = readWords(args, options);
  const [first, ...rest] = words;
  const runs = new StoredRuns(join(process.env.TAPWIRE_DATA ?? '.tapwire', 'certify'));
  if (first === 'plan' && rest.length === 1) return printReadyPlan(rest[0]!, values.config);
  if (first === 'runs' && rest.length === 0) return listRuns(runs);
  if (first === 'compare' && rest.length === 2) {
    const differences = compareRuns(runs.read(rest[0]!), runs.read(rest[1]!));
    console.log(differences.length === 0 ? 'no difference' : differences.join('\n'));
    return differences.length === 0 ? 0 : 1;
  }
  if (first === 'pack' && rest.length === 1) return pack(runs.read(rest[0]!), values);
  if (first === 'check' && rest.length === 1) return check(rest[0]!, values.key);
  if (first === undefined || rest.length > 0) throw new StartError('BAD_USAGE', USAGE);
  return certify(first, values, runs);
}

async function printReadyPlan(type: string, configFile: string | undefined): Promise<number> {
  const processor = await processorNamed(type);
  console.log(readyPlan(processor, configOf(processor, configFile)).trimEnd());
  return 0;
}

function listRuns(runs: StoredRuns): number {
  for (const id of runs.list()) {
    const { plan, results, against } = runs.read(id);
    console.log(`${id}  ${summaryOf(results, plan.cases)}  ${plan.name}, against ${against}`);
  }
  return 0;
}

type Values = ReturnType<typeof readWords<typeof options>>['values'];

function pack(run: StoredRun, { key, to }: Values): number {
  if (key === undefined || to === undefined) throw new StartError('BAD_USAGE', USAGE);
  writeNew(to, packEvidence(run, readText('--key', key)));
  console.log(`${to}: run ${run.id}, ${summaryOf(run.results, run.plan.cases)}`);
  return 0;
}

/** A pack that was handed in is not replaced. */
function writeNew(path: string, content: Uint8Array): void {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `--to ${path}: cannot be written, or exists already`, { cause });
  }
}

function check(path: string, key: string | undefined): number {
  if (key === undefined) throw new StartError('BAD_USAGE', USAGE);
  const { run, faults } = checkEvidence(readBytes(path), readText('--key', key));
  console.log(faults.length === 0 ? `ok: run ${run}, as it was signed` : faults.join('\n'));
  return faults.length === 0 ? 0 : 1;
}

async function certify(file: string, given: Values, runs: StoredRuns): Promise<number> {
  const source = readText('PLAN', file);
  const plan = parsePlan(source, file);
  const processor = await processorNamed(plan.type);
  const config = dryRunNumbers(configOf(processor, given.config), given.against === undefined);
  const against = addressOf(given.against);
  const earlier = given.resume === undefined ? undefined : runs.read(given.resume);
  const stored: StoredRun = earlier ?? (await newRun(plan, source, processor, config, given.against));
  if (stored.plan.sha256 !== sha256(source))
    throw new StartError('BAD_CONFIG', `${file} has changed since run ${stored.id}. Start a new run.`);
  if (earlier && stored.against !== (given.against ?? 'simulator'))
    throw new StartError('BAD_CONFIG', `Run ${stored.id} is one against ${stored.against}. Name the same host.`);
  if (earlier && earlier.configSha256 !== sha256(JSON.stringify(config)))
    throw new StartError('BAD_CONFIG', `The configuration has changed since run ${stored.id}. Start a new run.`);
  if (against && process.env.HSM_KEYS_FILE === undefined)
    console.error(
      'HSM_KEYS_FILE is not set: the keys of the configuration are demo keys, which a real host does not have.',
    );
  const cases = remainingCases(selectCases(plan, given.only), plan.cases, earlier, given.only !== undefined);
  const stopping = new AbortController();
  for (const signal of STOP_SIGNALS) process.once(signal, () => stopping.abort());
  const gateway = await openCertificationGateway(processor, config, against);
  const made: CaseResult[] = [];
  const known = new Map(stored.results.map((each) => [each.number, each]));
  const order = plan.cases.map(({ number }) => number);
  const before = stored.results;
  const keep = () => runs.write({ ...stored, results: mergeResults(order, before, made) });
  try {
    const parts: CertificationParts = { ...gateway, askPerson: against ? askPerson : async () => true };
    let keptAtMs = 0;
    for await (const result of runCases(cases, parts, known, stopping.signal)) {
      made.push(result);
      showResult(result, made.length, cases.length);
      if (Date.now() - keptAtMs < KEEP_EVERY_MS) continue;
      keep();
      keptAtMs = Date.now();
    }
  } finally {
    keep();
    await gateway.close();
  }
  const results = mergeResults(order, before, made);
  console.log(`\n${summaryOf(results, plan.cases.length)}. Run ${stored.id}, ${runs.pathOf(stored.id)}`);
  if (stopping.signal.aborted) console.log(`Interrupted. Continue with --resume ${stored.id}`);
  return results.length === plan.cases.length && results.every(({ passed }) => passed) ? 0 : 3;
}

/** The file is written as a whole each time; a second of results can be run again. */
const KEEP_EVERY_MS = 1_000;

/** A resumed run has a new gateway, so the sales that its cases refer to are made again. */
function remainingCases(
  selected: readonly CertificationCase[],
  all: readonly CertificationCase[],
  earlier: StoredRun | undefined,
  isRepeat: boolean,
): CertificationCase[] {
  const hasRun = (number: number) => earlier?.results.some((each) => each.number === number) === true;
  const wanted = selected.filter(({ number }) => isRepeat || !hasRun(number));
  const sales = new Set(wanted.map(originalOf));
  return all.filter((each) => wanted.includes(each) || sales.has(each.number));
}

function showResult({ number, title, passed, tookMs, checks }: CaseResult, done: number, total: number): void {
  const verdict = passed ? good('passed') : bad('FAILED');
  console.log(`[${done}/${total}] case ${number}  ${verdict}  ${title}  (${tookMs} ms)`);
  for (const { field, expected, actual, passed: isMet } of checks)
    if (!isMet) console.log(`    ${field}: expected ${expected}, got ${actual}`);
}

function summaryOf(results: readonly CaseResult[], total: number): string {
  const passed = results.filter((each) => each.passed).length;
  return `${passed} passed, ${results.length - passed} failed, ${total - results.length} not run`;
}

async function askPerson(step: string, limitSeconds: number, signal: AbortSignal): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitSeconds * 1_000)]);
  try {
    await prompt.question(`${step} Then press Enter (within ${limitSeconds} s). `, { signal: limit });
    return true;
  } catch (error) {
    if (limit.aborted) return false;
    throw error;
  } finally {
    prompt.close();
  }
}

async function processorNamed(type: string): Promise<Processor> {
  const types = await installedTypes();
  const processor = types.get(type);
  if (processor === undefined)
    throw new StartError('BAD_CONFIG', `${type}: expected a processor type, one of ${[...types.keys()].join(', ')}`);
  return processor;
}

/** @throws StartError BAD_CONFIG with the settings that are wrong */
function configOf(processor: Processor, file: string | undefined): SwitchConfig {
  const { type, exampleConfig, configSchema } = processor;
  if (file === undefined)
    return DEMO_TYPES.includes(type as DemoType) ? demoSwitchConfig(processor, type as DemoType) : exampleConfig;
  const checked = configSchema.safeParse(readJson('--config', file));
  if (checked.success) return checked.data;
  const faults = checked.error.issues.map(({ path, message }) => `${file}: ${path.join('.')}: ${message}`);
  throw new StartError('BAD_CONFIG', faults.join('\n'));
}

/** The simulated switch responds at once, so a dry run waits for no more than this. */
function dryRunNumbers(config: SwitchConfig, isDryRun: boolean): SwitchConfig {
  if (!isDryRun) return config;
  return { ...config, profile: { ...config.profile, deadlineMs: 3_000, idleEchoMs: 2_000, overtakingGuardSeconds: 2 } };
}

function addressOf(given: string | undefined): { host: string; port: number } | undefined {
  if (given === undefined) return undefined;
  const [, host, port] = /^\[?([\w.:-]+?)\]?:(\d{1,5})$/.exec(given) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new StartError('BAD_CONFIG', `--against ${given}: expected HOST:PORT`);
  return { host, port: Number(port) };
}

async function newRun(
  plan: Pick<Plan, 'name' | 'cases'>,
  source: string,
  processor: Processor,
  config: SwitchConfig,
  against = 'simulator',
): Promise<StoredRun> {
  const startedAt = new Date().toISOString();
  const id = `${startedAt.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}-${randomBytes(2).toString('hex')}`;
  const version = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version as string;
  return {
    version: 1,
    id,
    plan: { name: plan.name, sha256: sha256(source), cases: plan.cases.length },
    ...{ type: processor.type, against, startedAt },
    configSha256: sha256(JSON.stringify(config)),
    processorSha256: await hashOfProcessor(processor.type),
    versions: { tapwire: version, node: process.versions.node },
    results: [],
  };
}

/** Over the files of its folder: names and contents. */
async function hashOfProcessor(type: string): Promise<string> {
  const entries = [
    ...builtInEntries(),
    ...readProcessorNames(process.env).map((name) => findEntry(name, process.cwd())),
  ];
  for (const entry of entries) {
    if ((await loadProcessor(entry)).type !== type) continue;
    const folder = dirname(entry);
    const files = readdirSync(folder).filter((name) => /\.[jt]s$/.test(name) && statSync(join(folder, name)).isFile());
    return sha256(
      files
        .sort()
        .map((name) => `${name} ${sha256(readFileSync(join(folder, name)))}\n`)
        .join(''),
    );
  }
  throw new StartError('BAD_CONFIG', `${type}: its folder is not found`);
}
