import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeProfile } from '../../src/tools/phone/profile.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectToFit } from './accessible.ts';
import { launchChromium, openContext } from './chromium.ts';

/** Collects violations of the page's policy, from before its first line on. */
const WATCH_POLICY = `
  globalThis.forbidden = [];
  addEventListener('securitypolicyviolation', ({ violatedDirective }) => globalThis.forbidden.push(violatedDirective));`;

let folder: string;
let installation: Installation;
let apiKey: string;
let browser: Browser;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-reference-'));
  const path = join(folder, 'demo.json');
  [browser, installation] = await Promise.all([
    launchChromium(),
    startInstallation({ settings: { DOCS_PROFILE: path } }),
  ]);
  apiKey = await installation.apiKey();
  writeProfile(path, { ...installation.profile(), apiKey });
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
  rmSync(folder, { recursive: true });
});

interface View {
  readonly width?: number;
  /** Headers of each request; a proxy's header makes the reader a remote one. */
  readonly headers?: Record<string, string>;
}

const REMOTE = { via: '1.1 proxy.example' };

async function open(path: string, { width = 1440, headers = {} }: View = {}): Promise<Page> {
  const context = await openContext(browser, {
    colorScheme: 'light',
    viewport: { width, height: 1000 },
    extraHTTPHeaders: headers,
  });
  onTestFinished(async () => {
    expect(await page.evaluate('forbidden')).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });
  await context.addInitScript(WATCH_POLICY);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  await page.goto(new URL(path, installation.url).href);
  await page.locator('#search').waitFor();
  return page;
}

describe('the reference', () => {
  test.each([
    '/docs',
    '/docs/errors',
    '/docs/operations/createApplink',
    '/docs/schemas/TerminalProfileCreation',
    '/docs/guides/accept-payments',
    '/docs/guides/submit-a-tap',
    '/docs/guides/glossary',
  ])('%s is accessible, folded and unfolded, and no wider than the screen', async (path) => {
    const page = await open(path);
    const name = path.replaceAll('/', '-');
    await expectToFit(page, `folded${name}`);
    const folded = page.locator('details:not([open])');
    if ((await folded.count()) === 0) return;
    await folded.evaluateAll((parts) => {
      for (const part of parts) part.setAttribute('open', '');
    });
    await expectToFit(page, `unfolded${name}`);
  });

  test('the search and the result of a request are accessible', async () => {
    const page = await open('/docs/operations/listTransactions');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^200 OK, \d+ ms$/).waitFor();
    await page.getByLabel('Search the reference').fill('amount');
    await page.locator('#results a').first().waitFor();
    await expectToFit(page, 'searched');
  });
});

describe('search', () => {
  test.each([
    ['refund a sale', '/docs/operations/refundSale'],
    ['POST /consumer/applink', '/docs/operations/createApplink'],
    ['submitPin', '/docs/operations/submitPin'],
    ['209', '/docs/errors#209'],
    ['LinkResponse.expiresAt', '/docs/schemas/LinkResponse#LinkResponse.expiresAt'],
    ['needsReview', '/docs/operations/listTransactions#query.needsReview'],
    ['Do not honor', '/docs/errors#response-05'],
  ])('%s leads to %s', async (query, target) => {
    const page = await open('/docs');
    await page.keyboard.press('/');
    await page.keyboard.type(query);
    const link = page.locator(`#results a[href="${target}"]`);
    await link.waitFor();
    await link.click();
    await page.waitForURL((url) => url.pathname + url.hash === target);
    const { hash } = new URL(page.url());
    if (hash) await page.locator(`[id="${hash.slice(1)}"]`).waitFor();
  });

  test('works with the keyboard alone, and says when there is nothing', async () => {
    const page = await open('/docs');
    await page.keyboard.press('/');
    await page.keyboard.type('qqqqq');
    await page.getByText(/^Nothing found\. Search for/).waitFor();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('void a sale');
    await page.locator('#results a', { hasText: 'Void a sale' }).first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/operations/voidSale');
  });
});

describe('an example', () => {
  test('is sent from the page, and the command follows the fields', async () => {
    const page = await open('/docs/operations/listTransactions');
    await page.getByText('Optional parameters').click();
    await page.getByLabel('limit').fill('7');
    expect(await page.locator('#curl').textContent()).toContain('/transactions?limit=7');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^200 OK, \d+ ms$/).waitFor();
    expect(JSON.parse((await page.locator('#try-text').textContent())!)).toEqual([]);
    await page.getByLabel('limit').fill('many');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^400 Bad Request, \d+ ms$/).waitFor();
    expect(await page.locator('#try-text').textContent()).toContain('"errorCode": 104');
  });

  test('an example of a remote reader contains variables, and the key that he enters is sent and never shown', async () => {
    const page = await open('/docs/operations/createApplink', { headers: REMOTE });
    expect(await page.content()).not.toContain(apiKey);
    expect(await page.locator('#curl').textContent()).toContain('"x-api-key: $TAPWIRE_API_KEY"');
    await page.getByLabel('API key').fill(apiKey);
    await page.getByLabel('Body', { exact: true }).fill('{');
    expect(await page.locator('#curl').textContent()).not.toContain(apiKey);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^400 Bad Request, \d+ ms$/).waitFor();
    await page.goto(new URL('/docs/operations/listTransactions', installation.url).href);
    expect(await page.getByLabel('API key').inputValue()).toBe(apiKey);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^200 OK, \d+ ms$/).waitFor();
  });
});

test('the theme can be chosen and survives a reload', async () => {
  const page = await open('/docs');
  const colour = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const light = await colour();
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await colour();
  expect(dark).not.toBe(light);
  await page.reload();
  expect(await colour()).toBe(dark);
});

test('the contents unfold on a narrow screen', async () => {
  const page = await open('/docs/operations/refundSale', { width: 390 });
  const contents = page.getByRole('navigation', { name: 'Contents' });
  expect(await contents.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Contents' }).click();
  await contents.getByRole('link', { name: 'Void a sale' }).click();
  await page.waitForURL('**/docs/operations/voidSale');
});

test('paper shows every part and no controls', async () => {
  const page = await open('/docs/operations/createApplink');
  await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('#response-409').getByText('DuplicateMerchantReference').last().isVisible()).toBe(true);
  expect(await page.locator('#try-it').isVisible()).toBe(false);
  expect(await page.getByRole('navigation', { name: 'Contents' }).isVisible()).toBe(false);
});
