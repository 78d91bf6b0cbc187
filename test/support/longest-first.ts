import { relative, resolve } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const TESTS = resolve(import.meta.dirname, '..');

/** Files that take more than about ten seconds. If one of them began late, it would end long after all others. */
export const LONG_FILES: readonly string[] = [
  'flow/reversals.test.ts',
  'flow/database-gone.test.ts',
  'flow/late-responses.test.ts',
  'flow/void-responses.test.ts',
  'flow/pin-refused.test.ts',
  'webhooks/flow/recovery.test.ts',
  'flow/scenarios.test.ts',
  'flow/external-processor.test.ts',
  'flow/silent-line.test.ts',
  'http/secrets.test.ts',
  'flow/lines.test.ts',
  'flow/next-processor.test.ts',
  'flow/refunds-by-worker.test.ts',
  'flow/stop.test.ts',
  'cli/database/certify.test.ts',
  'ops/alerts.test.ts',
  'store/cells/late-responses.test.ts',
  'ops/verify-ledger.test.ts',
  'cli/database/integrators-guide.test.ts',
  'security/tenancy.test.ts',
  'flow/pin-expiry.test.ts',
  'store/postgres/silent-connections.test.ts',
  'flow/processes.test.ts',
  'flow/api-and-worker.test.ts',
  'flow/clocks-apart.test.ts',
  'security/raw-requests.test.ts',
  'cli/database/demo.test.ts',
  'security/markers.test.ts',
  'simulation/on-postgres/mirror.test.ts',
  // Of `npm run test:browser`: axe-core takes longest on the largest pages.
  'browser/reference.test.ts',
  'browser/console.test.ts',
  'browser/console-work.test.ts',
  'browser/pay-page.test.ts',
  // Of `npm run test:crash`: those that start a gateway for each test, and those that wait for limits of real time.
  'flow/crash/behaviour.test.ts',
  'flow/crash/behaviour-of-others.test.ts',
  'flow/crash/silent-gateways.test.ts',
  'flow/crash/failpoints.test.ts',
  'flow/crash/failpoints-of-workers.test.ts',
  'flow/crash/silent-hosts.test.ts',
  'foreign/crash/books.test.ts',
  'flow/crash/silent-connections.test.ts',
  'flow/crash/refunds.test.ts',
  'store/switches/crash/stans-after-failover.test.ts',
  'store/cells/crash/hindered-moves.test.ts',
  'flow/crash/processes.test.ts',
  'store/cells/crash/interrupted-moves.test.ts',
  'store/cells/crash/lost-cells.test.ts',
  'flow/crash/rolling-restart.test.ts',
];

/**
 * Runs the long files first, then the others project by project, as a worker cannot change its project.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files);
    return others.sort((one, other) => rankOf(one) - rankOf(other));
  }
}

/** Vitest's own order remains among the files that are not listed: `pure` comes last, as its files are short. */
function rankOf({ moduleId, project }: TestSpecification): number {
  const at = LONG_FILES.indexOf(relative(TESTS, moduleId));
  if (at >= 0) return at;
  return LONG_FILES.length + (project.name === 'pure' ? 1 : 0);
}
