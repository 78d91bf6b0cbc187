/** Before the tests of `npm run test:browser`: one line instead of as many failures as there are tests. */
import { findChromium } from './chromium.ts';

try {
  findChromium();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
