import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { expectToFit } from './accessible.ts';
import { launchChromium } from './chromium.ts';
import { consoleVisits, expectHarmless } from './console-visits.ts';

let installation: Installation;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

const { enter, visit, addressOf } = consoleVisits(
  () => installation,
  () => browser,
);
const ofAcquirer = { role: 'admin', owner: { acquirerId: 1 } } as const;

describe('settings', () => {
  test('a merchant is added after a correction at its field, found, changed, blocked and removed', async () => {
    const visited = await enter({ ...ofAcquirer, at: '/ops' });
    const { page } = visited;
    await page.getByRole('link', { name: 'Settings' }).click();
    await page
      .getByRole('link', { name: 'Corner Coffee' })
      .or(page.getByRole('link', { name: '1001' }))
      .first()
      .waitFor();
    expect(page.url()).toBe(addressOf('/ops/settings/1/merchants'));
    await expectToFit(page, 'settings-list');
    await page.getByRole('link', { name: 'Add a merchant' }).click();
    for (const [label, value] of [
      ['ID', 'books-1'],
      ['Integrator ID', '10'],
      ['Name', 'Corner Books'],
      ['MCC', 'books'],
      ['Country', 'ZA'],
      ['Currency', 'ZAR'],
      ['Time zone', 'Africa/Johannesburg'],
    ] as const)
      await page.locator('#settings').getByLabel(label, { exact: true }).fill(value);
    await page.getByRole('button', { name: 'Add a merchant' }).click();
    await page.getByText('Must be four digits.').waitFor();
    expect(await page.getByLabel('MCC').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Corner Books');
    await expectToFit(page, 'settings-fault');
    await page.getByLabel('MCC').fill('5942');
    await page.getByRole('button', { name: 'Add a merchant' }).click();
    await page.getByRole('heading', { name: 'Merchant Corner Books' }).waitFor();
    await page.getByRole('link', { name: 'Merchants' }).click();
    await page.getByRole('searchbox', { name: 'Search merchants' }).fill('CORNER B');
    await page.keyboard.press('Enter');
    await page.getByText('1 shown').waitFor();
    await page.getByRole('link', { name: 'books-1' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('City').fill('Durban');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('City: – → Durban').or(page.getByText('City:  → Durban')).waitFor();
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.locator('#sure-yes').click();
    await page.getByText('Blocked: false → true').waitFor();
    await expectToFit(page, 'settings-entry');
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.locator('#sure-yes').click();
    await page.getByText('books-1').waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Changes' }).click();
    await page.getByRole('cell', { name: 'remove', exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await page.getByText('No entry was changed, and none is missing.').waitFor();
    await expectToFit(page, 'settings-audit');
    await expectHarmless(visited);
  });

  test('the text of an API key is shown once', async () => {
    const visited = await enter({ ...ofAcquirer, at: '/ops/settings/1/keys?new' });
    const { page } = visited;
    await page.getByLabel('Name', { exact: true }).fill('till');
    await page.getByRole('checkbox', { name: 'transactions:read' }).check();
    await page.getByRole('button', { name: 'Create an API key' }).click();
    await page.getByText('It is not shown again.').waitFor();
    expect(await page.locator('.once code').innerText()).toMatch(/^tw_test_/);
    await expectToFit(page, 'settings-key');
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Rotate an API key' }).waitFor();
    expect(await page.content()).not.toContain('tw_test_');
    await expectHarmless(visited);
  });

  test('the form of a processor is that of its type', async () => {
    const visited = await visit('admin', '/ops/settings/1/processors?new');
    const { page } = visited;
    const type = page.getByLabel('Type', { exact: true });
    await type.selectOption('type-1');
    const addresses = page.getByRole('group', { name: 'Addresses' });
    await addresses.getByRole('button', { name: 'Add to Addresses' }).click();
    await addresses.getByLabel('Host').fill('127.0.0.1');
    await addresses.getByLabel('Port').fill('9101');
    await page.getByLabel('Acquirer ID').fill('50001');
    await expectToFit(page, 'settings-processor');
    await page.getByRole('textbox', { name: 'Name (optional)', exact: true }).fill('Second switch');
    await page.getByRole('button', { name: 'Add a processor' }).click();
    await page.getByRole('heading', { name: 'Processor Second switch' }).waitFor();
    await page.getByRole('button', { name: 'Change' }).click();
    expect(await addresses.getByLabel('Port').inputValue()).toBe('9101');
    await expectHarmless(visited);
  });

  test('a processor is checked as the doctor does, and the routes are checked, beside its settings', async () => {
    const visited = await enter({ ...ofAcquirer, at: '/ops/settings/1/processors/1' });
    const { page } = visited;
    await page.getByRole('button', { name: 'Check a processor' }).click();
    await page.getByText(/accepts connections, the gateway is signed on/).waitFor();
    await page.getByText(/^\d of \d connections \(processes: 1\) are signed on/).waitFor();
    await expectToFit(page, 'settings-check');
    await page.getByRole('button', { name: 'Check the routes' }).click();
    await page.getByLabel('Currency', { exact: true }).fill('ZAR');
    await page.getByLabel('X tid').fill('no such terminal');
    await page.locator('form.schema').getByRole('button', { name: 'Check the routes' }).click();
    await page.getByText('Is not a terminal of the acquirer.').waitFor();
    await page.getByLabel('X tid').fill('TERM-coffee');
    await page.locator('form.schema').getByRole('button', { name: 'Check the routes' }).click();
    await page.getByText('It fits, and its switch is signed on.').waitFor();
    await expectToFit(page, 'settings-try');
    await page.getByRole('link', { name: '100', exact: true }).click();
    await page.getByRole('heading', { name: 'Route 100' }).waitFor();
    await page.getByRole('link', { name: 'Routes', exact: true }).click();
    await page.getByRole('button', { name: 'Check the routes' }).click();
    await page.getByLabel('X tid').waitFor();
    await expectHarmless(visited);
  });

  test('users of the installation, HSM keys and a test of an endpoint have their pages', async () => {
    const insert = `insert into hsm_keys (key_id, acquirer_id, usage, kcv, due_on) values ('mac-1', 1, 'mac', 'A1B2C3', '2027-11-23')`;
    await installation.database.query(insert);
    const visited = await visit('admin', '/ops/settings');
    const { page } = visited;
    await page.getByRole('link', { name: 'HSM keys of the installation' }).click();
    await page.getByRole('cell', { name: 'A1B2C3' }).waitFor();
    await expectToFit(page, 'settings-hsm-keys');
    await page.getByRole('link', { name: 'Installation users' }).click();
    await page.getByRole('link', { name: 'Add an installation user' }).click();
    await page.locator('#settings').getByLabel('Username', { exact: true }).fill('night-shift');
    await page.locator('#settings').getByLabel('Role').selectOption('operator');
    await page.getByRole('button', { name: 'Add an installation user' }).click();
    await page.getByText('It is not shown again.').waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Installation user night-shift' }).waitFor();
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.locator('#sure-yes').click();
    await page.getByText('Blocked: false → true').waitFor();
    await expectToFit(page, 'settings-user');
    await page.goto(addressOf('/ops/settings/1/integrators/10'));
    await page.getByRole('button', { name: 'Check the callback URL of links' }).click();
    await page.getByText('None.').waitFor();
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    await page.getByRole('button', { name: 'Set the callback URL of links' }).click();
    await page.locator('form.schema').getByRole('textbox').fill(receiver.url);
    await page.locator('form.schema').getByRole('button', { name: 'Set the callback URL' }).click();
    await page.getByText(receiver.url).first().waitFor();
    await page.getByRole('button', { name: 'Check the callback URL of links' }).click();
    await page.getByRole('cell', { name: '204' }).waitFor();
    await expectToFit(page, 'settings-endpoint-test');
    await expectHarmless(visited);
  });

  test('an operator of the installation goes from the acquirers to each of them; others see nothing', async () => {
    const { page } = await visit('admin', '/ops/settings');
    await page.getByRole('link', { name: '2', exact: true }).click();
    await page.getByRole('heading', { name: 'Acquirers › Acquirer 2' }).waitFor();
    await page.getByRole('link', { name: 'Terminals' }).click();
    await page.getByRole('heading', { name: 'Acquirers › Acquirer 2' }).waitFor();
    const { page: own } = await enter({ ...ofAcquirer, at: '/ops/settings/2/merchants' });
    await own.getByText('There is no such entry that you may see.').waitFor();
    const { page: viewer } = await enter({ role: 'viewer', at: '/ops/settings' });
    await viewer.getByText('Your role administers nothing.').waitFor();
    expect(await viewer.getByRole('link', { name: 'Settings' }).isVisible()).toBe(false);
  });
});
