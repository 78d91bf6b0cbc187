import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { CLIENT, IdentityProvider } from '../support/identity-provider.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { launchChromium } from './chromium.ts';
import { expectHarmless, expectToFit, type Visit } from './console-visits.ts';

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
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } });
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
