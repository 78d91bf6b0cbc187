import type { ConformanceResult } from '../kits/plug-ins/check-failure.ts';
import { bad, good } from './output.ts';

/** Prints the results of a conformance suite, with the reason of each failure, and their number. */
export function printResults(title: string, results: readonly ConformanceResult[]): void {
  const failed = results.filter(({ passed }) => !passed).length;
  console.log(`${title}\n`);
  for (const result of results) console.log(rowOf(result));
  console.log(`\n${results.length} checks, ${failed === 0 ? good('all passed') : bad(`${failed} FAILED`)}`);
}

function rowOf({ group, check, passed, why, details = [] }: ConformanceResult): string {
  const row = `  ${passed ? good('ok    ') : bad('FAILED')}  ${group.padEnd(13)}  ${check}`;
  const indent = `\n          ${''.padEnd(13)}  `;
  return passed ? row : [row, `-> ${why}`, ...details.map((line) => `   ${line}`)].join(indent);
}
