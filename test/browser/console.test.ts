import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import { DatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { refundSale, sellApproved } from '../support/refunds.ts';
import { expectAccessible, expectToFit } from './accessible.ts';
import { launchChromium, openContext } from './chromium.ts';
import { consoleVisits, expectHarmless, INSTALLATION } from './console-visits.ts';

/** A reference that a merchant may choose; an operator reads it, and the page must not interpret it. */
const HOSTILE = `<img src=x onerror="forbidden.push('markup')">`;
const PAN = '4111111111111111';
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

async function find(page: Page, query: string): Promise<void> {
  await page.keyboard.press('/');
  await page.keyboard.type(query);
  await page.keyboard.press('Enter');
}

const { enter, visit, addressOf } = consoleVisits(
  () => installation,
  () => browser,
);

describe('the console', () => {
  const screens: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
    overview: async (page) => {
      await page.locator('#outcomes tr').nth(0).getByText('Visa').waitFor();
      await page.locator('#queues tr').first().waitFor();
    },
    list: async (page) => {
      await page.getByRole('link', { name: 'Transactions', exact: true }).click();
      await page.locator('#list-rows tr').nth(1).waitFor();
    },
    none: async (page) => {
      await find(page, 'nothing like this');
      await page.getByText('You can search by').waitFor();
    },
    transaction: async (page) => {
      await find(page, approved);
      await page.locator('table.message').first().waitFor();
    },
  };
  test.each(
    Object.keys(screens),
  )('fits three widths, is accessible in both color schemes, and violates no policy: %s', async (name) => {
    const visited = await visit('viewer');
    await screens[name]!(visited.page);
    await expectToFit(visited.page, name);
    await expectHarmless(visited);
  });

  test('has its head in one line on a phone, with everything in a menu', async () => {
    const visited = await visit('admin');
    const { page } = visited;
    await page.setViewportSize({ width: 360, height: 800 });
    expect((await page.locator('#bar').boundingBox())!.height).toBeLessThan(60);
    expect(await page.getByRole('link', { name: 'Transactions', exact: true }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Transactions', exact: true }).click();
    await page.locator('#list-rows tr').first().waitFor();
    expect((await page.locator('#bar').boundingBox())!.height).toBeLessThan(60);
    await expectHarmless(visited);
  });

  test('leads to each view by keys, lists them with ?, and leaves keys alone when the person says so', async () => {
    const visited = await visit('admin');
    const { page } = visited;
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    for (const [key, path] of [
      ['t', '/ops/transactions'],
      ['s', '/ops/settings'],
      ['w', '/ops/work/webhooks'],
      ['o', '/ops'],
    ] as const) {
      // On a busy machine, the second key can come too late for a sequence, or while the dialog is closing.
      await eventually(async () => {
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        expect(new URL(page.url()).pathname).toBe(path);
      });
    }
    await page.keyboard.press('?');
    await page.getByLabel('Use shortcuts').uncheck();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    expect(new URL(page.url()).pathname).toBe('/ops');
    await expectHarmless(visited);
  });

  test('shows a switch once, with the connections of all processes, and names the environment', async () => {
    const gateway = await installation.startGateway();
    onTestFinished(() => gateway.stop());
    const { page } = await visit('operator');
    const row = page.locator('#switches tr').filter({ hasText: '1 · 1' });
    await row.getByText('2 of 2 ready').waitFor();
    expect(await row.count()).toBe(1);
    await row.locator('summary').click();
    expect(await row.getByRole('button', { name: /^Sign off/ }).count()).toBe(2);
    expect(await page.locator('#environment').innerText()).toMatch(/^dev$/i);
    const wide = await page
      .locator('#switches')
      .evaluate((body) => body.closest('.scroll')!.scrollWidth <= body.closest('.scroll')!.clientWidth);
    expect(wide).toBe(true);
  });

  test('has its header in one line on a laptop, with all links of an operator', async () => {
    const { page } = await visit('operator');
    const [first, last] = [page.locator('header h1'), page.locator('#who')];
    // The link of the present view is wider.
    for (const path of ['/ops', '/ops/transactions']) {
      await page.goto(addressOf(path));
      await page.getByRole('link', { name: 'Cells' }).waitFor();
      const [above, below] = [(await first.boundingBox())!, (await last.boundingBox())!];
      expect(below.y, path).toBeLessThan(above.y + above.height);
    }
  });

  test('finds a tap by keyboard and shows its time line, both messages and the chip; foreign input remains text', async () => {
    const visited = await visit('viewer');
    const { page } = visited;
    await find(page, approved);
    const panel = page.locator('#one');
    await panel.getByText('Responded To Phone').waitFor();
    expect(await panel.locator('#one-title').innerText()).toBe('Sale · ZAR 10.00 · Approved');
    const text = await panel.innerText();
    expect(text).toContain('411111******1111');
    expect(text).toContain(HOSTILE);
    expect(text).not.toContain(PAN);
    expect(await panel.locator('table.message caption').allInnerTexts()).toEqual([
      expect.stringContaining('Request'),
      expect.stringContaining('Response'),
      expect.any(String),
    ]);
    await panel.getByText(/^Chip/).click();
    await panel.getByRole('rowheader', { name: '9F26' }).waitFor();
    await expectHarmless(visited);
  });

  test('accepts a card number, finds its taps, and keeps it in no field and no address', async () => {
    const { page } = await visit('viewer');
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await find(page, PAN);
    await page.getByText('Found by card.').waitFor();
    await page.locator('#list-rows tr').nth(1).waitFor();
    expect(await page.getByLabel('Find a transaction').inputValue()).toBe('');
    expect(addresses.join()).not.toContain(PAN);
    expect(page.url()).not.toContain('4111');
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
    await row.locator('summary').click();
    await row.getByRole('button', { name: /^Sign off/ }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await row.getByText('signed off').count()).toBe(0);
    await row.getByRole('button', { name: /^Sign off/ }).click();
    await page.locator('#sure').getByRole('button', { name: 'Sign off' }).click();
    await row.getByText('signed off').waitFor();
    await row.getByRole('button', { name: /^Sign on/ }).click();
    await page.locator('#sure').getByRole('button', { name: 'Sign on' }).click();
    await row.getByText('1 of 1 ready').or(row.getByText('2 of 2 ready')).waitFor();
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
    await page.getByRole('link', { name: 'Show transactions for review' }).click();
    await page.locator('#list').getByText('411111******1111').first().waitFor();
    expect(page.url()).toContain('attention=review');
    await expectHarmless(visited);
  });

  test('shows an acquirer its round trips, and nothing of the installation', async () => {
    const { page, faults } = await enter({ role: 'viewer', colorScheme: 'dark', owner: { acquirerId: 1 } });
    await page.getByRole('heading', { name: 'Round trips to switches' }).waitFor();
    await page.locator('#outcomes tr').first().waitFor();
    for (const title of ['Queues', 'Processes and Postgres'])
      expect(await page.getByRole('heading', { name: title }).isVisible()).toBe(false);
    expect(await page.locator('#tiles').innerText()).not.toContain('Failed');
    expect(faults).toEqual([]);
  });

  test('states for how long there were no figures, and does not present old ones as current', async () => {
    const { page } = await enter({
      role: 'viewer',
      prepare: (each) => each.route('**/ops/stream', (route) => route.abort()),
    });
    await page
      .locator('#pulse')
      .getByText(/^no data for \d+ s$/)
      .waitFor();
    expect(await page.title()).toMatch(/^\(\?\) /);
    expect(await page.locator('body.is-old').count()).toBe(1);
  });

  test('requires a login after the session has ended, and shows nothing before', async () => {
    const { page } = await visit('operator');
    await page.locator('#who').click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Username').waitFor();
    expect(await page.locator('main:visible').isVisible()).toBe(false);
  });

  test('lists transactions at addresses that survive reloading, going back and sharing', async () => {
    const { page, faults } = await visit('viewer');
    await page.getByRole('link', { name: 'Transactions', exact: true }).click();
    await page.locator('#list-rows tr').nth(1).waitFor();
    await page.locator('#filters [name="outcome"]').selectOption('declined');
    await page.getByText('1 transaction', { exact: true }).waitFor();
    expect(page.url()).toBe(addressOf('/ops/transactions?outcome=declined'));
    await page.reload();
    await page.getByText('1 transaction', { exact: true }).waitFor();
    expect(await page.locator('#filters [name="outcome"]').inputValue()).toBe('declined');
    await page.locator('#list-rows a').click();
    await page.getByText('Responded To Phone').waitFor();
    const shared = page.url();
    expect(shared).toMatch(/\/ops\/transactions\/[0-9a-f-]{36}$/);
    await page.goBack();
    await page.locator('#list-rows tr').waitFor();
    expect(page.url()).toBe(addressOf('/ops/transactions?outcome=declined'));
    await page.goto(shared);
    await page.getByText('Responded To Phone').waitFor();
    expect(faults).toEqual([]);
  });

  test('distinguishes a refund from a sale, and finds what a filter of the list would hide', async () => {
    const sale = await sellApproved(installation, '33.00');
    await refundSale(installation, sale, { amount: '3.00', refundReference: 'shown-as-refund' });
    const visited = await visit('viewer', '/ops/transactions?type=refund');
    const { page } = visited;
    await page.getByText('1 transaction', { exact: true }).waitFor();
    await page.getByRole('cell', { name: 'Refund', exact: true }).waitFor();
    expect(await page.locator('#list-rows').innerText()).toContain('ZAR 3.00');
    await page.getByLabel('Find a transaction').fill(sale);
    await page.keyboard.press('Enter');
    await page.locator('#one-title').getByText('Sale · ZAR 33.00').waitFor();
    await page.goBack();
    expect(await page.locator('#filters [name="type"]').inputValue()).toBe('');
    await expectHarmless(visited);
  });

  test('keeps the views and columns that the person chose', async () => {
    const { page } = await visit('viewer', '/ops/transactions?outcome=declined');
    await page.getByText('1 transaction', { exact: true }).waitFor();
    await page.locator('#list-views summary').click();
    await page.getByLabel('Name of this view').fill('Declined today');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expectAccessible(page);
    await page.locator('#list-views summary').click();
    await page.locator('#list-columns summary').click();
    await page.getByRole('checkbox', { name: 'RRN' }).check();
    await page.getByRole('checkbox', { name: 'Terminal' }).uncheck();
    await expectAccessible(page);
    await page.goto(addressOf('/ops/transactions'));
    await page.locator('#list-rows tr').nth(1).waitFor();
    const titles = await page.locator('#list-head th:visible').allInnerTexts();
    expect([titles.includes('RRN'), titles.includes('Terminal')]).toEqual([true, false]);
    await page.locator('#list-views summary').click();
    await page.getByRole('link', { name: 'Declined today' }).click();
    await page.getByText('1 transaction', { exact: true }).waitFor();
    expect(page.url()).toBe(addressOf('/ops/transactions?outcome=declined'));
  });

  test('announces new transactions and does not move what is read; shows them on demand', async () => {
    const { page } = await visit('viewer', '/ops/transactions');
    await page.locator('#list-rows tr').nth(1).waitFor();
    const before = await page
      .locator('#list-rows a')
      .evaluateAll((links) => links.map(({ textContent }) => textContent));
    await installation.phone().tap({ amount: '12.00', currency: 'ZAR' });
    const fresh = page.getByRole('button', { name: '1 new: show' });
    await fresh.waitFor();
    expect(
      await page.locator('#list-rows a').evaluateAll((links) => links.map(({ textContent }) => textContent)),
    ).toEqual(before);
    await fresh.click();
    await page.locator('#list-rows').getByText('ZAR 12.00').waitFor();
    expect(await fresh.isVisible()).toBe(false);
  });

  test('says since when the list was not updated, and folds the filters on a phone', async () => {
    const visited = await visit('viewer');
    const { page } = visited;
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(addressOf('/ops/transactions?outcome=approved'));
    await page.locator('#list-rows tr').first().waitFor();
    const outcome = page.locator('#filters').getByLabel('Outcome');
    expect(await outcome.isVisible()).toBe(false);
    await page.getByText('Filters (1)').click();
    expect(await outcome.inputValue()).toBe('approved');
    await page.route('**/ops/data/transactions/changes', (route) => route.abort());
    await page.getByText(/^Not updated since \d\d:\d\d:\d\d .+\.$/).waitFor();
    await expectToFit(page, 'list-old');
    await page.unroute('**/ops/data/transactions/changes');
    await page.getByText('Not updated since').waitFor({ state: 'hidden' });
    expect(await outcome.isVisible()).toBe(true);
    await expectHarmless(visited);
  });

  test('exports what is filtered as a file', async () => {
    const { page } = await visit('viewer', '/ops/transactions?outcome=declined');
    await page.getByText('1 transaction', { exact: true }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('Declined,51,');
  });

  test('updates an open transaction automatically, and keeps what the person opened', async () => {
    const { page } = await visit('viewer', `/ops/transactions/${approved}`);
    await page.getByText(/^Chip/).click();
    const flag = 'update transactions set needs_review = $2, updated_at = now() where id = $1';
    await installation.database.query(flag, [approved, true]);
    onTestFinished(async () => void (await installation.database.query(flag, [approved, false])));
    await page.getByText('Review required').waitFor();
    await page.getByRole('rowheader', { name: '9F26' }).waitFor();
  });

  test('shows times in the zone that the person chose, and names it', async () => {
    const { page } = await visit('viewer', '/ops/transactions');
    await page.locator('#who').click();
    await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
    await page.getByRole('columnheader', { name: 'Time (GMT+9)' }).waitFor();
    await page.reload();
    await page.getByRole('columnheader', { name: 'Time (GMT+9)' }).waitFor();
  });

  test('says in red what is unavailable without the database and since when, and continues when it returns', async () => {
    const line = await DatabaseRelay.open(installation.environment().DATABASE_URL!);
    onTestFinished(() => line.close());
    const gateway = await installation.startGateway({ DATABASE_URL: line.url, TAPWIRE_ROLE: 'api' });
    onTestFinished(() => gateway.stop());
    const { username } = await savePortalUser(installation.database, INSTALLATION, 'viewer');
    const context = await openContext(browser, { viewport: { width: 1440, height: 1000 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await line.goAway();
    await page.goto(new URL('/ops/transactions', gateway.url).href);
    const banner = page.getByText(/^The database has been unavailable since \d\d:\d\d:\d\d/).first();
    await banner.waitFor();
    await expectToFit(page, 'outage-first');

    await line.comeBack();
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(PASSWORD);
    await line.goAway();
    await page.keyboard.press('Enter');
    await page.locator('#login-said').getByText('The database is unavailable').waitFor();
    await expectToFit(page, 'outage-login');

    await line.comeBack();
    await page.locator('#login .outage').waitFor({ state: 'hidden' });
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('#list-rows tr').first().waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('#switches tr').first().waitFor();
    await line.goAway();
    await banner.waitFor();
    await page.getByText(/^Problems are unknown/).waitFor();
    expect(await page.getByText('No problems.').count()).toBe(0);
    await expectToFit(page, 'outage-overview');
    await line.comeBack();
    await banner.waitFor({ state: 'hidden' });
  });

  test('shows the cells to operators of the installation; a cell that does not respond is a fault of its own', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tapwire-cells-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const cell = (name: string, number: number, database: string) => ({
      ...{ name, number, database, backend: name, url: `https://${name}.example` },
    });
    const here = cell('here', 0, installation.environment().DATABASE_URL!);
    const gone = cell('gone', 1, 'postgres://tapwire@127.0.0.1:1/tapwire');
    const path = join(folder, 'cells.json');
    await writeFile(path, JSON.stringify({ cells: [here, gone] }));
    const gateway = await installation.startGateway({ CELLS_FILE: path, TAPWIRE_ROLE: 'api' });
    onTestFinished(() => gateway.stop());
    const single = await enter({ role: 'operator', colorScheme: 'dark' });
    await single.page.getByRole('link', { name: 'Cells' }).click();
    await single.page.getByText('This is a single installation').waitFor();
    expect(single.faults).toEqual([]);
    const at = new URL('/ops/cells', gateway.url).href;
    const { page, faults } = await enter({ role: 'operator', colorScheme: 'dark', at });
    await page.getByRole('cell', { name: 'Acquirer 1 (1)' }).waitFor();
    await page
      .getByText(/cell gone cannot be used/)
      .first()
      .waitFor();
    await expectToFit(page, 'cells');
    expect(faults).toEqual([]);
  });
});
