import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import type { Installation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { expectAccessible } from './accessible.ts';
import { openContext } from './chromium.ts';

/** Collects violations of the page's policy, from before its first line on. */
const WATCH_POLICY = `
  globalThis.forbidden = [];
  addEventListener('securitypolicyviolation', ({ violatedDirective }) => globalThis.forbidden.push(violatedDirective));`;
/** A phone, a laptop and a wide screen. */
const WIDTHS = [390, 1440, 2560];
/** Pictures to look at are written to this folder if it is given. */
const PICTURES = process.env.CONSOLE_PICTURES;

export const INSTALLATION = { acquirerId: 0 };

export interface Visit {
  readonly page: Page;
  readonly faults: string[];
}

/** Visits of people to the console of an installation. */
export function consoleVisits(installation: () => Installation, browser: () => Browser) {
  async function visit(role: Role): Promise<Visit> {
    const visited = await enter(role, 'light', INSTALLATION);
    await visited.page.locator('#switches tr').first().waitFor();
    return visited;
  }

  /** @param prepare runs on the page before its first request to the gateway */
  async function enter(
    role: Role,
    colorScheme: 'light' | 'dark',
    owner: { readonly acquirerId: number },
    prepare: (page: Page) => Promise<unknown> = async () => {},
  ): Promise<Visit> {
    const { username } = await savePortalUser(installation().database, owner, role);
    const context = await openContext(browser(), { colorScheme, viewport: { width: 1440, height: 1000 } });
    onTestFinished(() => context.close());
    await context.addInitScript(WATCH_POLICY);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await prepare(page);
    await page.goto(new URL('/ops', installation().url).href);
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('body.is-in').waitFor();
    return { page, faults };
  }

  const addressOf = (path: string) => new URL(path, installation().url).href;
  return { enter, visit, addressOf };
}

export async function expectHarmless({ page, faults }: Visit): Promise<void> {
  expect(faults).toEqual([]);
  expect(await page.evaluate('forbidden')).toEqual([]);
}

/** At each width, light and dark, nothing is wider than the screen, and everything is accessible. */
export async function expectToFit(
  page: Page,
  name: string,
  colorSchemes: readonly ('light' | 'dark')[] = ['light', 'dark'],
): Promise<void> {
  for (const colorScheme of colorSchemes) {
    await page.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 1000 });
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}-${width}.png` });
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${name} ${width}`).toBe(width);
      await expectAccessible(page);
    }
  }
  await page.setViewportSize({ width: 1440, height: 1000 });
}
