import { afterAll, beforeAll } from 'vitest';
import { CrashSite } from './crash-site.ts';
import { testMoments } from './moments.ts';

let site: CrashSite;
beforeAll(async () => {
  site = await CrashSite.open();
});
afterAll(() => site.close());

testMoments(() => site, { doomed: 'all', front: () => undefined });
