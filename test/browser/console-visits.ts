import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import type { Installation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { openContext } from './chromium.ts';

/** Collects violations of the page's policy, from before its first line on. */
const WATCH_POLICY = `
  globalThis.forbidden = [];
  addEventListener('securitypolicyviolation', ({ violatedDirective }) => globalThis.forbidden.push(violatedDirective));`;

export const INSTALLATION = { acquirerId: 0 };

export interface Visit {
  readonly page: Page;
  readonly faults: string[];
}

/** A person with a session, which was begun without the page: signing in is the subject of other tests. */
export interface Arrival {
  readonly role: Role;
  readonly owner?: { readonly acquirerId: number };
  readonly colorScheme?: 'light' | 'dark';
  /** A path of the installation's first gateway, or an address at another one. */
  readonly at?: string;
  /** Runs on the page before its first request to the gateway. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Visits of people to the console of an installation. */
export function consoleVisits(installation: () => Installation, browser: () => Browser) {
  /** At the overview, or at another path. */
  async function visit(role: Role, at?: string): Promise<Visit> {
    const visited = await enter({ role, ...(at !== undefined && { at }) });
    if (at === undefined) await visited.page.locator('#switches tr').first().waitFor();
    return visited;
  }

  async function enter({ role, owner = INSTALLATION, colorScheme = 'light', at = '/ops', prepare }: Arrival) {
    const url = addressOf(at);
    const context = await openContext(browser(), { colorScheme, viewport: { width: 1440, height: 1000 } });
    onTestFinished(() => context.close());
    await context.addInitScript(WATCH_POLICY);
    await beginSession(context, url, (await savePortalUser(installation().database, owner, role)).username);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await prepare?.(page);
    await page.goto(url);
    await page.locator('body.is-in').waitFor();
    return { page, faults };
  }

  const addressOf = (path: string) => new URL(path, installation().url).href;
  return { enter, visit, addressOf };
}

/** The context then holds the cookie that the gateway gives a browser. */
async function beginSession(context: BrowserContext, url: string, username: string): Promise<void> {
  const response = await context.request.post(new URL('/ops/session', url).href, {
    data: { username, password: PASSWORD },
  });
  expect(response.status()).toBe(200);
}

export async function expectHarmless({ page, faults }: Visit): Promise<void> {
  expect(faults).toEqual([]);
  expect(await page.evaluate('forbidden')).toEqual([]);
}
