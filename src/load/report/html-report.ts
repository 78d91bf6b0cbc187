import type { LoadResult } from '#schemas/load-result';
import type { LoadRecord } from '../load-run.ts';
import type { MachineSample } from '../machine-watch.ts';
export function htmlReport(_result: LoadResult, _record: LoadRecord, _samples: readonly MachineSample[]): string {
  return '';
}
