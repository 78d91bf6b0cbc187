import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';

/** Playwright's own limit is 30 s, which a busy machine reaches; only a failing test waits this long. */
const WITHIN_MS = 240_000;

/** A context whose waits end after as long as those of all other tests. */
export async function openContext(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}
