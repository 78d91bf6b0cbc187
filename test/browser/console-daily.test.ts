import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.ts';
import { sellApproved } from '../support/refunds.ts';
import { expectAccessible, expectToFit } from './accessible.ts';
import { launchChromium } from './chromium.ts';
import { consoleVisits, expectHarmless } from './console-visits.ts';

const PAN = '4111111111111111';

let installation: Installation;
let browser: Browser;
let sale: string;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
  sale = await sellApproved(installation, '27.00');
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

const { enter, visit } = consoleVisits(
  () => installation,
  () => browser,
);

describe('the daily work of an acquirer', () => {
  test('a note is written below the timeline, and a colleague sees it with author and time', async () => {
    const at = `/ops/transactions/${sale}`;
    const visited = await enter({ role: 'operator', owner: { acquirerId: 1 }, at });
    const { page } = visited;
    const note = page.getByLabel('Note for colleagues, without card data');
    await note.fill(`Card ${PAN}`);
    await page.getByRole('button', { name: 'Add the note' }).click();
    await page.getByText('must not contain a card number').waitFor();
    expect(await note.inputValue()).toBe(`Card ${PAN}`);
    await note.fill('Merchant called:\n<b>goods</b> returned');
    // The page updates itself meanwhile, and keeps what the person typed.
    await installation.database.query('update transactions set updated_at = clock_timestamp() where id = $1', [sale]);
    await page.waitForResponse('**/present');
    expect(await note.inputValue()).toContain('goods');
    await page.getByRole('button', { name: 'Add the note' }).dblclick();
    const written = page.locator('.trail [data-kind="note"]');
    await written.getByText('Merchant called: <b>goods</b> returned').waitFor();
    expect(await written.count()).toBe(1);
    expect(await note.inputValue()).toBe('');
    const long = 'The acquirer confirmed that the books agree, and that the merchant gave the goods back. '.repeat(8);
    await note.fill(`${long}${'x'.repeat(120)}`);
    await page.getByRole('button', { name: 'Add the note' }).click();
    await written.nth(1).waitFor();
    await expectToFit(page, 'notes');
    await expectHarmless(visited);
    const { page: viewer } = await enter({ role: 'viewer', owner: { acquirerId: 1 }, at });
    await viewer.getByText('Merchant called: <b>goods</b> returned').waitFor();
    expect(await viewer.getByText(/^user /).count()).toBeGreaterThan(0);
    expect(await viewer.getByRole('button', { name: 'Add the note' }).count()).toBe(0);
  });

  test('a saved view is there in another browser of the same person, and is removed', async () => {
    const visited = await enter({ role: 'viewer', owner: { acquirerId: 1 }, at: '/ops/transactions?outcome=approved' });
    const { page } = visited;
    await page.getByText('1 transaction', { exact: true }).waitFor();
    await page.locator('#list-views summary').click();
    await page.getByLabel('Name of this view').fill(`Card ${PAN}`);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('#list-views').getByText('must not contain a card number').waitFor();
    await page.getByLabel('Name of this view').fill('Approved');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Views (1)').waitFor();
    await expectToFit(page, 'views');
    // Nothing of it is kept in the browser.
    await page.evaluate('localStorage.clear()');
    await page.reload();
    await page.getByText('Views (1)').click();
    await page.getByRole('link', { name: 'Approved' }).waitFor();
    await page.getByRole('button', { name: 'Remove the view Approved' }).click();
    await page.getByText('Views', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Approved' }).count()).toBe(0);
    await expectHarmless(visited);
  });

  test('an export continues while the person looks at other views, says how far it is, and can be cancelled', async () => {
    const visited = await visit('viewer', '/ops/transactions');
    const { page } = visited;
    await page.getByText('1 transaction', { exact: true }).waitFor();
    const release = Promise.withResolvers<void>();
    await page.route('**/ops/data/transactions/export', async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Export CSV' }).click();
    await page.getByText('Exporting', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Export CSV' }).isDisabled()).toBe(true);
    await page.getByRole('link', { name: 'History' }).click();
    await expectToFit(page, 'export-running');
    const [download] = await Promise.all([page.waitForEvent('download'), release.resolve()]);
    expect((await readFile(await download.path(), 'utf8')).trim().split('\r\n')).toHaveLength(2);
    await page.getByText('The file has 1 row.').waitFor();
    await expectToFit(page, 'export-done');
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await page.locator('#export').isVisible()).toBe(false);
    await page.unroute('**/ops/data/transactions/export');
    // An export without a response.
    await page.route('**/ops/data/transactions/export', () => {});
    await page.getByRole('link', { name: 'Transactions', exact: true }).click();
    await page.getByRole('button', { name: 'Export CSV' }).click();
    await page.locator('#export').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('#list-export:enabled').waitFor();
    expect(await page.locator('#export').isVisible()).toBe(false);
    expect(await page.getByText('The gateway does not respond.').count()).toBe(0);
    await expectHarmless(visited);
  });

  test('a card number typed into any filter filters the list once, and is in no address', async () => {
    const visited = await visit('viewer', '/ops/transactions');
    const { page } = visited;
    await page.locator('#list-rows tr').first().waitFor();
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    for (const [label, value] of [
      ['Merchant', PAN],
      ['Terminal', '4111 1111 1111 1111'],
      ['Scheme', '4111+1111+1111+1111'],
    ] as const) {
      const field = page.locator('#filters').getByLabel(label, { exact: true });
      await field.fill(value);
      const [asked] = await Promise.all([
        page.waitForRequest('**/ops/data/transactions'),
        page.locator('#filters [type="submit"]').or(field).first().press('Enter'),
      ]);
      expect(asked.postDataJSON().filter[label.toLowerCase()]).toBe(value);
      await page.getByText('0 transactions').waitFor();
      await field.fill('');
      await Promise.all([page.waitForResponse('**/ops/data/transactions'), field.press('Enter')]);
    }
    await page.locator('#filters').getByLabel('Merchant', { exact: true }).fill('1001');
    await page.locator('#filters').getByLabel('Merchant', { exact: true }).press('Enter');
    await page.getByText('1 transaction', { exact: true }).waitFor();
    addresses.push(...(await page.evaluate<string[]>('[location.href, document.referrer]')));
    await page.goBack();
    addresses.push(page.url());
    expect(addresses.filter((address) => /4111/.test(decodeURIComponent(address)))).toEqual([]);
    await expectAccessible(page);
    await expectHarmless(visited);
  });
});
