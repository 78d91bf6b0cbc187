import { afterAll, beforeAll } from 'vitest';
import type { StartedGateway } from '../../support/installation.ts';
import { CrashSite } from './crash-site.ts';
import { testMoments } from './moments.ts';

/**
 * The other type of switch, and phones connected to a process that stays alive while the workers behind it are killed.
 */
let site: CrashSite;
let api: StartedGateway;
beforeAll(async () => {
  site = await CrashSite.open({ type: 'type-2' });
  api = await site.installation.startGateway({ TAPWIRE_ROLE: 'api' });
});
afterAll(() => site.close());

testMoments(() => site, { doomed: 'worker', front: () => api });
