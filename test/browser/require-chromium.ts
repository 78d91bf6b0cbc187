/** Runs before the tests of `npm run test:browser`: one line instead of a failure for every test. */
import { findChromium } from './chromium.ts';

try {
  findChromium();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
