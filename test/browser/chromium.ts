import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

/**
 * Where distributions and vendors install it. First the variant without windows: with the others, each context costs
 * seven times its processor time, because Chromium also draws the window around the page.
 */
const USUAL_PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** A name of this machine that browsers do not trust as they trust `localhost`. */
export const PLAIN_HOST = 'plain.test';

/** For use as root and in a container, without any network requests of the browser itself. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
];

/** Playwright's own limit is 30 s, which a busy machine reaches; only a failing test waits this long. */
const WITHIN_MS = 240_000;

/** @throws Error that states what to install if there is no browser */
export function findChromium(): string {
  const named = process.env.CHROMIUM_PATH;
  const found = (named === undefined ? USUAL_PLACES : [named]).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    'There is no browser: install Chromium (apt-get install chromium-headless-shell), or name one in CHROMIUM_PATH.',
  );
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: ARGUMENTS });
}

/**
 * A context whose waits end after as long as those of all other tests. Without movement: an endless animation is drawn
 * sixty times a second, also while a test waits.
 */
export async function openContext(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}
