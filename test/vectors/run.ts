/** `npm run vectors -- FILE...`: runs vector files; default: the copies in this folder. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CaseResult, runVectorFile } from './run-file.ts';

const counts = { passed: 0, failed: 0, skipped: 0 };
const paths = process.argv.length > 2 ? process.argv.slice(2) : await copies();
for (const path of paths) {
  for (const { name, outcome, why } of await results(path)) {
    counts[outcome]++;
    if (outcome === 'failed') console.log(`failed   ${path}: ${name}: ${why}`);
    if (outcome === 'skipped') console.log(`skipped  ${path}: ${name}: ${why}`);
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 ? 1 : 0;

/** A file that cannot be read or run counts as one failure, and the others still run. */
async function results(path: string): Promise<CaseResult[]> {
  try {
    return await runVectorFile(path);
  } catch (error) {
    return [{ name: 'the file', outcome: 'failed', why: error instanceof Error ? error.message : String(error) }];
  }
}

async function copies(): Promise<string[]> {
  const files = await readdir(import.meta.dirname);
  return files.filter((file) => file.endsWith('.json')).map((file) => join(import.meta.dirname, file));
}
