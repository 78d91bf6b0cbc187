import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { launchChromium } from './chromium.ts';

/** A reference that a merchant may choose; an operator reads it, and the page must not interpret it. */
const HOSTILE = `<img src=x onerror="forbidden.push('markup')">`;
const PAN = '4111111111111111';
/** Collects violations of the page's policy, from before its first line on. */
const WATCH_POLICY = `
  globalThis.forbidden = [];
  addEventListener('securitypolicyviolation', ({ violatedDirective }) => globalThis.forbidden.push(violatedDirective));`;
/** The narrowest screen that the console supports. */
const NARROW_PIXELS = 768;

const INSTALLATION = { acquirerId: 0 };

let installation: Installation;
let browser: Browser;
let approved: string;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
  const { body } = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
  const { onlineAuthorizationResponse } = body as { onlineAuthorizationResponse: OnlineAuthorization };
  approved = onlineAuthorizationResponse.serviceReference;
  await installation.database.query('update transactions set user_claim = $2 where id = $1', [approved, HOSTILE]);
  await installation.phone().tap({ amount: '10.51', currency: 'ZAR' });
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

interface Visit {
  readonly page: Page;
  readonly faults: string[];
}

async function visit(role: Role, colorScheme: 'light' | 'dark' = 'light'): Promise<Visit> {
  const visited = await enter(role, colorScheme, INSTALLATION);
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
  const { username } = await savePortalUser(installation.database, owner, role);
  const context = await browser.newContext({ colorScheme, viewport: { width: 1440, height: 1000 } });
  onTestFinished(() => context.close());
  await context.addInitScript(WATCH_POLICY);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  await prepare(page);
  await page.goto(new URL('/ops', installation.url).href);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.locator('body.is-in').waitFor();
  return { page, faults };
}

async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([]);
}

async function expectHarmless({ page, faults }: Visit): Promise<void> {
  expect(faults).toEqual([]);
  expect(await page.evaluate('forbidden')).toEqual([]);
}

async function find(page: Page, query: string): Promise<void> {
  await page.keyboard.press('/');
  await page.keyboard.type(query);
  await page.keyboard.press('Enter');
  await page.locator('#panel[open]').waitFor();
}

describe('the console', () => {
  test.each(['light', 'dark'] as const)('is accessible and violates no policy, %s', async (scheme) => {
    const visited = await visit('viewer', scheme);
    const { page } = visited;
    await page.locator('#outcomes tr').nth(0).getByText('Visa').waitFor();
    await page.locator('#queues tr').first().waitFor();
    await expectAccessible(page);
    await find(page, approved);
    await page.locator('table.message').first().waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    for (const width of [NARROW_PIXELS, 1280, 2560]) {
      await page.setViewportSize({ width, height: 1000 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    await expectHarmless(visited);
  });

  test('finds a tap by keyboard and shows its time line, both messages and the chip; foreign input remains text', async () => {
    const visited = await visit('viewer');
    const { page } = visited;
    await find(page, approved);
    const panel = page.locator('#panel');
    await panel.getByText('Responded To Phone').waitFor();
    expect(await panel.locator('#panel-title').innerText()).toBe('Tap · ZAR 10.00 · Approved');
    const text = await panel.innerText();
    expect(text).toContain('411111******1111');
    expect(text).toContain(HOSTILE);
    expect(text).not.toContain(PAN);
    expect(await panel.locator('table.message caption').allInnerTexts()).toEqual([
      'Request',
      'Response',
      expect.any(String),
    ]);
    await panel.getByText(/^Chip/).click();
    await panel.getByRole('rowheader', { name: '9F26' }).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    await expectHarmless(visited);
  });

  test('accepts a card number, finds its taps, and keeps it in no field and no address', async () => {
    const { page } = await visit('viewer');
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await find(page, PAN);
    await page.locator('#panel-body tbody tr').nth(1).waitFor();
    expect(await page.getByLabel('Find a transaction').inputValue()).toBe('');
    expect(addresses.join()).not.toContain(PAN);
    expect(await page.locator('body').innerText()).not.toContain(PAN);
  });

  test('shows no actions to a read-only user', async () => {
    const { page } = await visit('viewer');
    await page.locator('#processes tr').first().waitFor();
    expect(await page.locator('button.act').count()).toBe(0);
  });

  test('signs a connection off and on, each time with a confirmation; cancelling changes nothing', async () => {
    const { page, faults } = await visit('operator');
    const row = page.locator('#switches tr').filter({ hasText: '1 · 1' });
    await row.getByRole('button', { name: /^Sign off/ }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await row.getByText('signed off').count()).toBe(0);
    await row.getByRole('button', { name: /^Sign off/ }).click();
    await page.locator('#sure').getByRole('button', { name: 'Sign off' }).click();
    await row.getByText('signed off').waitFor();
    await row.getByRole('button', { name: /^Sign on/ }).click();
    await page.locator('#sure').getByRole('button', { name: 'Sign on' }).click();
    await row.getByText('ready').first().waitFor();
    expect(faults).toEqual([]);
  });

  test('states what needs a person, also in its title, and shows it with a button', async () => {
    const flag = 'update transactions set needs_review = $2 where id = $1';
    await installation.database.query(flag, [approved, true]);
    onTestFinished(async () => void (await installation.database.query(flag, [approved, false])));
    const visited = await visit('viewer');
    const { page } = visited;
    await page.locator('#troubles').getByText('need review').waitFor();
    expect(await page.title()).toMatch(/^\(1\) /);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show transactions for review' }).click();
    await page.locator('#panel').getByText('411111******1111').first().waitFor();
    await expectHarmless(visited);
  });

  test('shows an acquirer its round trips, and nothing of the installation', async () => {
    const { page, faults } = await enter('viewer', 'dark', { acquirerId: 1 });
    await page.getByRole('heading', { name: 'Round trips to switches' }).waitFor();
    await page.locator('#outcomes tr').first().waitFor();
    for (const title of ['Queues', 'Processes and Postgres'])
      expect(await page.getByRole('heading', { name: title }).isVisible()).toBe(false);
    expect(await page.locator('#tiles').innerText()).not.toContain('Failed');
    expect(faults).toEqual([]);
  });

  test('states for how long there were no figures, and does not present old ones as current', async () => {
    const { page } = await enter('viewer', 'light', INSTALLATION, (each) =>
      each.route('**/ops/stream', (route) => route.abort()),
    );
    await page
      .locator('#pulse')
      .getByText(/^no data for \d+ s$/)
      .waitFor();
    expect(await page.title()).toMatch(/^\(\?\) /);
    expect(await page.locator('body.is-old').count()).toBe(1);
  });

  test('requires a login after the session has ended, and shows nothing before', async () => {
    const { page } = await visit('operator');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Username').waitFor();
    expect(await page.locator('main').isVisible()).toBe(false);
  });
});
