import { spawn } from 'node:child_process';
import { statSync, watch } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MODULE_EXTENSION, TAPWIRE_COMMAND } from '../../basics/module-extension.ts';
import { entryNamed, findEntry } from '../../kits/plug-ins/load-plug-ins.ts';
import { processorConformance } from '../../kits/processor-kit/conformance.ts';
import { builtInEntries, loadProcessor, newProcessor, PROCESSORS } from '../../kits/processor-kit/load-processors.ts';
import { readProcessorNames } from '../../start/config.ts';
import { beginProcessorWith } from '../../tools/specs/write-spec.ts';
import { flag, onlyWord, readWords, text } from '../arguments.ts';
import { untilAskedToStop } from '../command-end.ts';
import { run as writeDocs } from '../docs.ts';
import { listPlugIns, printResults } from '../plug-ins.ts';
import { readSpecOf, report } from '../spec.ts';

const CREATE_USAGE = `usage: tapwire processor new NAME [--dir processors] [--spec FILE]

  --spec FILE  begin with this field table: a packager of jPOS, or another form that tapwire spec import reads

Creates the folder DIR/NAME with a processor type that passes the conformance suite.`;

/**
 * `tapwire processor new`: creates a folder with a processor that passes the conformance suite unchanged. The
 * gateway finds processors in `processors/` automatically.
 */
async function createType(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { dir: { ...text, default: 'processors' }, spec: text });
  const name = onlyWord(words, CREATE_USAGE);
  const imported = values.spec === undefined ? undefined : await readSpecOf(values.spec);
  const folder = newProcessor(name, resolve(values.dir));
  const misfit = imported && (await beginProcessorWith(imported.spec, folder, name));
  report(imported?.notes ?? []);
  const path = relative('.', folder);
  const isFoundByItself = relative(PROCESSORS.builtInFolder, folder) === name;
  if (isFoundByItself) await writeDocs([]);
  const named = isFoundByItself ? '' : `PROCESSORS=${path} `;
  const fit = misfit === undefined ? '' : `. Its messages do not fit it yet: ${misfit}`;
  const state =
    values.spec === undefined
      ? 'is a processor that passes the conformance suite'
      : `is a processor with the field table of ${values.spec}${fit}`;
  console.log(`${path} ${state}. The places to edit are marked EDIT. Then:

  ${TAPWIRE_COMMAND} processor verify ${path}
  ${named}${TAPWIRE_COMMAND} simulate ${name}=9101
  ${named}${TAPWIRE_COMMAND} demo --stay
`);
}

export const create = { USAGE: CREATE_USAGE, run: createType };

const VERIFY_USAGE = `usage: tapwire processor verify PATH|PACKAGE|TYPE [--json]

Runs the conformance suite over a processor type, and reports each check that fails.`;

/**
 * `tapwire processor verify`: runs the conformance suite over one processor and prints a table. Exit code 1 when a
 * check fails or the processor cannot be loaded.
 */
async function runVerify(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { json: flag });
  const name = onlyWord(words, VERIFY_USAGE);
  const entry = entryNamed(name, builtInEntries());
  const processor = await loadProcessor(entry);
  const { type, name: title } = processor;
  const results = processorConformance(processor);
  if (values.json) console.log(JSON.stringify({ type, name: title, entry, results }, null, 2));
  else printResults(`${title}, type ${type}, ${entry}`, results);
  return results.every(({ passed }) => passed) ? 0 : 1;
}

export const verify = { USAGE: VERIFY_USAGE, run: runVerify };

const WATCH_USAGE = 'usage: tapwire processor watch PATH        until Ctrl-C';

const PROGRAM = fileURLToPath(new URL(`../tapwire.${MODULE_EXTENSION}`, import.meta.url));

/** An editor writes a file in several steps, and "save all" writes several files. */
const SETTLE_MS = 100;

/**
 * `tapwire processor watch`: runs the conformance suite whenever a file of the processor is saved. Each run has a
 * process of its own, because a module that was imported once is not read again.
 */
async function runWatch(args: string[]): Promise<void> {
  const path = onlyWord(readWords(args, {}).words, WATCH_USAGE);
  const folder = resolve(path);
  findEntry(folder, '.');
  const runs = new Runs(folder);
  runs.start();
  let settling: NodeJS.Timeout | undefined;
  const watched = statSync(folder).isDirectory() ? folder : dirname(folder);
  const watcher = watch(watched, { recursive: true }, () => {
    clearTimeout(settling);
    settling = setTimeout(() => runs.start(), SETTLE_MS);
  });
  await untilAskedToStop();
  clearTimeout(settling);
  watcher.close();
  runs.stop();
}

/** One run at a time; a save during a run is followed by another one. */
class Runs {
  readonly #path: string;
  #stop: (() => void) | undefined;
  #isOutdated = false;
  #isStopped = false;

  constructor(path: string) {
    this.#path = path;
  }

  start(): void {
    this.#isOutdated = this.#stop !== undefined;
    if (this.#isOutdated) return;
    if (process.stdout.isTTY) console.clear();
    const child = spawn(process.execPath, [PROGRAM, 'processor', 'verify', this.#path], { stdio: 'inherit' });
    this.#stop = () => child.kill();
    child.once('exit', () => {
      this.#stop = undefined;
      if (this.#isStopped) return;
      console.log(`\nWatching ${this.#path}. Ctrl-C ends.`);
      if (this.#isOutdated) this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop?.();
  }
}

export const watchType = { USAGE: WATCH_USAGE, run: runWatch };

/** Prints the processor types that a gateway started here would load, those of PROCESSORS included. */
export function listTypes(): Promise<number> {
  return listPlugIns({
    idName: 'type',
    builtIn: builtInEntries(),
    external: readProcessorNames(process.env),
    load: async (entry) => {
      const { type, name } = await loadProcessor(entry);
      return { id: type, name };
    },
  });
}
