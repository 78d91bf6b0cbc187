import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { STORED_DOCUMENT } from '../support/api-document.ts';

const SOURCES = fileURLToPath(new URL('clients/', import.meta.url));
const KERNEL = fileURLToPath(new URL('../../samples/Kernel.java', import.meta.url));
const run = promisify(execFile);

/** The options of each generator, as the guide for integrators has them. */
const GENERATORS = {
  java: { library: 'native' },
  go: { packageName: 'tapwire', disallowAdditionalPropertiesIfNotPresent: false },
  python: { packageName: 'tapwire' },
};

/** A program that uses a generated client, or the sample of a kernel; its arguments follow. */
export type Program = readonly [command: string, ...args: string[]];

export interface GeneratedClients {
  readonly programs: {
    readonly java: Program;
    readonly kernel: Program;
    readonly go?: Program;
    readonly python?: Program;
  };
  /** Why a language has no program. */
  readonly missing: readonly string[];
  readonly remove: () => void;
}

/**
 * Generates a client for each language from `openapi.json` with openapi-generator, and compiles it with the program that
 * uses it. Java and Maven must be there; a language without its toolchain has no program.
 */
export async function generateClients(): Promise<GeneratedClients> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-clients-'));
  const lib = join(folder, 'lib');
  await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${lib}`], { cwd: SOURCES });
  const isGenerator = (name: string) => name.startsWith('openapi-generator-cli-');
  const jars = readdirSync(lib).filter((name) => !isGenerator(name));
  const classPath = jars.map((name) => join(lib, name)).join(delimiter);
  await generate(folder, join(lib, readdirSync(lib).find(isGenerator)!));
  const [java, kernel, go, python] = await Promise.all([
    compileJava(folder, classPath),
    compileKernel(folder, classPath),
    has('go', 'version').then((isThere) => (isThere ? compileGo(folder) : undefined)),
    has('python3', '-c', 'import pydantic, urllib3, dateutil').then((isThere) =>
      isThere ? preparePython(folder) : undefined,
    ),
  ]);
  return {
    programs: { java, kernel, ...(go && { go }), ...(python && { python }) },
    missing: [...(go ? [] : ['go']), ...(python ? [] : ['python3 with pydantic, urllib3 and python-dateutil'])],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function has(...[command, ...args]: [string, ...string[]]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}

/** One process for all languages: half of the time of a generator is its start. */
async function generate(folder: string, generator: string): Promise<void> {
  const configs = Object.entries(GENERATORS).map(([name, additionalProperties]) => {
    const path = join(folder, `${name}.json`);
    const config = {
      generatorName: name,
      inputSpec: fileURLToPath(STORED_DOCUMENT),
      outputDir: join(folder, name),
      additionalProperties,
    };
    writeFileSync(
      path,
      JSON.stringify({
        ...config,
        globalProperties: { apiTests: false, modelTests: false, apiDocs: false, modelDocs: false },
      }),
    );
    return path;
  });
  await run('java', ['-jar', generator, 'batch', '--fail-fast', ...configs], { maxBuffer: 50_000_000 });
}

async function compileJava(folder: string, libraries: string): Promise<Program> {
  const source = join(folder, 'java/src/main/java');
  const classes = join(folder, 'java/classes');
  const options = ['-nowarn', '-proc:none', '-d', classes, '-cp', libraries, '-sourcepath', source];
  const packages = ['api', 'model'].map((name) => join(source, 'org/openapitools/client', name));
  const generated = packages.flatMap((path) => readdirSync(path).map((name) => join(path, name)));
  await run('javac', [...options, ...generated, join(SOURCES, 'Client.java')]);
  return ['java', '-cp', `${classes}${delimiter}${libraries}`, 'Client'];
}

async function compileKernel(folder: string, libraries: string): Promise<Program> {
  const classes = join(folder, 'kernel');
  await run('javac', ['-proc:none', '-d', classes, '-cp', libraries, KERNEL]);
  return ['java', '-cp', `${classes}${delimiter}${libraries}`, 'Kernel'];
}

async function compileGo(folder: string): Promise<Program> {
  const program = join(folder, 'go-program');
  mkdirSync(program);
  copyFileSync(join(SOURCES, 'main.go'), join(program, 'main.go'));
  const cwd = { cwd: program };
  const module = ['edit', '-require=tapwire.example/client@v0.0.0', '-replace=tapwire.example/client=../go'];
  await run('go', ['mod', 'edit', '-module=tapwire.example/client'], { cwd: join(folder, 'go') });
  await run('go', ['mod', 'init', 'tapwire.example/program'], cwd);
  await run('go', ['mod', ...module], cwd);
  await run('go', ['mod', 'tidy'], cwd);
  await run('go', ['build', '-o', 'client'], cwd);
  return [join(program, 'client')];
}

async function preparePython(folder: string): Promise<Program> {
  copyFileSync(join(SOURCES, 'client.py'), join(folder, 'python/client.py'));
  await run('python3', ['-m', 'compileall', '-q', join(folder, 'python/tapwire')]);
  return ['python3', join(folder, 'python/client.py')];
}
