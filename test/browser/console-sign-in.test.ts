import type { Browser, Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { totpCode } from '../../src/auth/totp/second-factor.ts';
import { eventually } from '../support/eventually.ts';
import { CLIENT, IdentityProvider } from '../support/identity-provider.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { expectToFit } from './accessible.ts';
import { launchChromium, openContext } from './chromium.ts';
import { expectHarmless, type Visit } from './console-visits.ts';

let installation: Installation;
let provider: IdentityProvider;
let browser: Browser;
beforeAll(async () => {
  [browser, provider] = await Promise.all([launchChromium(), IdentityProvider.start()]);
  const client = { OIDC_ISSUER: provider.url, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret };
  installation = await startInstallation({ role: 'api', settings: { ...client, OIDC_ROLES: 'ops=operator' } });
  provider.admit(installation.url);
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
  await provider?.stop();
});

async function open(path: string): Promise<Visit> {
  const context = await openContext(browser, { viewport: { width: 1440, height: 1000 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.addInitScript(
    `globalThis.forbidden = []; addEventListener('securitypolicyviolation', (event) => forbidden.push(event.violatedDirective));`,
  );
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  await page.goto(new URL(path, installation.url).href);
  return { page, faults };
}

const link = (page: Page) => page.getByRole('link', { name: 'Sign in with 127.0.0.1' });

test('a person signs in with the provider, on the page that the person opened, and signs out of both', async () => {
  provider.person = { subject: 'thandi', name: 'thandi@id.example', groups: ['ops'] };
  const visited = await open('/ops/transactions?outcome=declined');
  const { page } = visited;
  await link(page).waitFor();
  await expectToFit(page, 'login-provider');
  await link(page).click();
  await page.locator('body.is-in').waitFor();
  expect(new URL(page.url()).search).toBe('?outcome=declined');
  await page.getByText('thandi@id.example, operator, all acquirers').waitFor();
  await page.reload();
  await page.locator('body.is-in').waitFor();
  await expectHarmless(visited);
  await page.locator('#who').click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL((url) => url.origin === provider.url);
});

test('a person without a role reads why, and can still log in with a password', async () => {
  provider.person = { subject: 'sipho', name: 'sipho@id.example', groups: [] };
  const visited = await open('/ops');
  const { page } = visited;
  await link(page).click();
  await page.getByText('you have no role in this console').waitFor();
  expect(new URL(page.url()).search).toBe('');
  await page.getByLabel('Username').waitFor();
  await expectToFit(page, 'login-no-role');
  await expectHarmless(visited);
});

test('a person sets up one-time codes, logs in with one, and ends another session', async () => {
  const { username } = await savePortalUser(installation.database, { acquirerId: 0 }, 'admin');
  const visited = await open('/ops/account');
  const { page } = visited;
  const logIn = async (on: Page, code = '') => {
    await on.getByLabel('Username').fill(username);
    await on.locator('#password').fill(PASSWORD);
    await on.locator('#code').fill(code);
    await on.keyboard.press('Enter');
  };
  await logIn(page);
  await page.getByText('Your login needs only your password').waitFor();
  await page.locator('#own-sessions').getByText('this one').waitFor();
  await expectToFit(page, 'account');
  await page.getByLabel('Your password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set up one-time codes' }).click();
  const key = (await page.locator('#factor code').textContent())!.replaceAll(' ', '');
  await page.getByRole('img', { name: 'QR code of the key' }).waitFor();
  await expectToFit(page, 'account-qr');
  const path = await page.locator('.qr path').getAttribute('d');
  expect(scanned(path!)).toContain(`secret=${key}`);
  // A code may expire while a slow machine types it, so the next one is tried.
  await eventually(async () => {
    await page.getByLabel('Code in the app').fill(codeOf(key));
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('Keep these recovery codes').waitFor();
  });
  await expectToFit(page, 'account-recovery');
  // The stream of the session that has ended makes the page show its view again.
  const read = page.waitForResponse((response) => response.url().endsWith('/ops/data/sessions'));
  await page.evaluate(`dispatchEvent(new PopStateEvent('popstate'))`);
  await (await read).finished();
  await page.locator('#own-sessions').getByText('this one').waitFor();
  const recoveryCode = (await page.locator('.recovery code').first().textContent())!;
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await page.getByText('Your login needs a one-time code').waitFor();
  await expectToFit(page, 'account-enrolled');

  const other = await open('/ops/account');
  await logIn(other.page);
  await other.page.getByText('Wrong username, password or one-time code.').waitFor();
  await logIn(other.page, recoveryCode);
  await other.page.locator('#all-sessions').getByText('this one').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'End all others' }).click();
  await page.locator('#others-end:disabled').waitFor();
  await other.page.reload();
  await other.page.getByLabel('Username').waitFor();
  await expectHarmless(visited);
  await expectHarmless(other);
});

test('where one-time codes are required, a person reads it and reaches nothing else', async () => {
  const strict = await installation.startGateway({ TAPWIRE_ROLE: 'api', CONSOLE_NEEDS_TOTP: 'true' });
  onTestFinished(() => strict.stop());
  const { username } = await savePortalUser(installation.database, { acquirerId: 1 }, 'operator');
  const visited = await open(new URL('/ops/transactions', strict.url).href);
  const { page } = visited;
  await page.getByLabel('Username').fill(username);
  await page.locator('#password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('This console requires them').waitFor();
  await expectToFit(page, 'account-required');
  expect(await page.getByRole('link', { name: 'Transactions' }).count()).toBe(0);
  await expectHarmless(visited);
});

function codeOf(key: string): string {
  const bits = [...key]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return totpCode(Buffer.from(bytes), Math.floor(Date.now() / 30_000));
}

/** What a phone reads from the dark modules of a path, drawn with a light frame. */
function scanned(path: string): string {
  const dark = [...path.matchAll(/M(\d+) (\d+)/g)].map(([, column, row]) => [Number(column), Number(row)] as const);
  const [scale, quiet] = [4, 4];
  const side = (Math.max(...dark.flat()) + 1 + 2 * quiet) * scale;
  const data = new Uint8Array(side * side * 3).fill(255);
  for (const [column, row] of dark)
    for (let y = (row + quiet) * scale; y < (row + quiet + 1) * scale; y++)
      data.fill(0, (y * side + (column + quiet) * scale) * 3, (y * side + (column + quiet + 1) * scale) * 3);
  return decodeQR({ width: side, height: side, data });
}
