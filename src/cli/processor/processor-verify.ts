import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../../errors.ts';
import { type ConformanceResult, processorConformance } from '../../processor-kit/conformance.ts';
import { builtInEntries, findEntry, loadProcessor } from '../../processor-kit/load-processors.ts';
import { bad, good } from '../style.ts';
import { flag } from '../words.ts';

export const USAGE = `usage: tapwire processor verify PATH|PACKAGE|TYPE [--json]

Runs the conformance suite over a processor type, and reports each check that fails.`;

/**
 * `tapwire processor verify`: runs the conformance suite over one processor and prints a table. Exit code 1 when a
 * check fails or the processor cannot be loaded.
 */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: flag },
  });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new StartError('BAD_USAGE', USAGE);
  const entry = entryOf(name);
  const processor = await loadProcessor(entry);
  const results = processorConformance(processor);
  const failed = results.filter(({ passed }) => !passed).length;
  if (values.json) {
    console.log(JSON.stringify({ type: processor.type, name: processor.name, entry, results }, null, 2));
  } else {
    console.log(`${processor.name}, type ${processor.type}, ${entry}\n`);
    for (const result of results) console.log(rowOf(result));
    console.log(`\n${results.length} checks, ${failed === 0 ? good('all passed') : bad(`${failed} FAILED`)}`);
  }
  return failed === 0 ? 0 : 1;
}

/** A path takes precedence, then a folder of `processors/`, then a package. */
function entryOf(name: string): string {
  const builtIn = builtInEntries().find((entry) => basename(dirname(entry)) === name);
  return builtIn !== undefined && !existsSync(name) ? builtIn : findEntry(name, resolve('.'));
}

function rowOf({ group, check, passed, why, details = [] }: ConformanceResult): string {
  const row = `  ${passed ? good('ok    ') : bad('FAILED')}  ${group.padEnd(13)}  ${check}`;
  const indent = `\n          ${''.padEnd(13)}  `;
  return passed ? row : [row, `-> ${why}`, ...details.map((line) => `   ${line}`)].join(indent);
}
