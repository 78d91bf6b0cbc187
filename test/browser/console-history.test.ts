import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { addFigures } from '../../src/console/store/stored-figures.ts';
import { DatabaseRelay } from '../support/database-relay.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectToFit } from './accessible.ts';
import { launchChromium } from './chromium.ts';
import { consoleVisits, expectHarmless } from './console-visits.ts';

let installation: Installation;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
  const counted = (acquirerId: number, processorId: number, taps: number, bound: string) => ({
    ...{ acquirerId, processorId },
    outcomes: { Approved: taps * 9, Declined: taps, Indeterminate: 1 },
    declines: { '51': taps - 1, '05': 1 },
    roundTrips: { [bound]: taps * 10 },
  });
  const names = `update processors set name = 'Main switch' where acquirer_id = 1 and id = 1`;
  await installation.database.query(names);
  for (const secondsAgo of [60, 120, 240, 1_800, 7_200, 20_000, 80_000, 400_000, 2_000_000])
    await addFigures(installation.database, [counted(1, 1, 100, '0.05'), counted(2, 2, 10, '0.5')], secondsAgo);
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

const { enter, visit, addressOf } = consoleVisits(
  () => installation,
  () => browser,
);

test('the past fits three screens, each range has its address, and reload, going back and choosing a switch work', async () => {
  const visited = await visit('viewer');
  const { page } = visited;
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await page.locator('#past-switches td').getByText('Main switch (1 · 1)').first().waitFor();
  await page.locator('#declines').getByText('Not sufficient funds (51)').waitFor();
  await expectToFit(page, 'history');
  const totals = new Map<string, string>();
  for (const [range, title] of Object.entries({
    '15m': '15 minutes',
    '6h': '6 hours',
    '24h': '24 hours',
    '7d': '7 days',
    '30d': '30 days',
  })) {
    await page.getByRole('link', { name: title, exact: true }).click();
    await expect.poll(() => page.url()).toContain(`range=${range}`);
    await page.locator('#history-ranges [aria-current=page]').getByText(title, { exact: true }).waitFor();
    await expect.poll(() => page.locator('#past-taps-said').textContent()).toContain(`in ${title}`);
    totals.set(range, (await page.locator('#history-total').textContent())!);
  }
  // 3, 6, 7, 8 and 9 times 1,102 taps in each.
  expect([...totals.values()].map((text) => text.split(' ', 1)[0])).toEqual([
    '3,306',
    '6,612',
    '7,714',
    '8,816',
    '9,918',
  ]);
  await page.goBack();
  await expect.poll(() => page.locator('#history-total').textContent()).toBe(totals.get('7d'));
  await page.reload();
  await expect.poll(() => page.locator('#history-total').textContent()).toBe(totals.get('7d'));
  await page.locator('#past-switches tr', { hasText: 'Main switch' }).getByRole('link').click();
  await expect.poll(() => page.locator('#history-total').textContent()).toContain('Main switch (1 · 1) only');
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect.poll(() => page.locator('#history-total').textContent()).toBe(totals.get('7d'));
  await expectHarmless(visited);
});

test("an acquirer's user sees the own switches only, without taps the page says so", async () => {
  const at = '/ops/history?range=1h&acquirer=1&processor=1';
  const { page } = await enter({ role: 'viewer', colorScheme: 'dark', owner: { acquirerId: 2 }, at });
  await page.locator('#history-total').getByText('No taps').waitFor();
  await page.goto(addressOf('/ops/history?range=7d'));
  await page.locator('#past-switches td').getByText('2 · 2').first().waitFor();
  expect(await page.locator('#past-switches').textContent()).not.toContain('Main switch');
  await page.goto(addressOf('/ops/history?range=unknown'));
  await page.locator('#history-ranges [aria-current=page]').getByText('1 hour', { exact: true }).waitFor();
});

test('the page says that the database is missing, shows no figures of another range, and continues when it returns', async () => {
  const line = await DatabaseRelay.open(installation.environment().DATABASE_URL!);
  onTestFinished(() => line.close());
  const gateway = await installation.startGateway({ DATABASE_URL: line.url, TAPWIRE_ROLE: 'api' });
  onTestFinished(() => gateway.stop());
  const { page } = await visit('viewer', new URL('/ops/history?range=30d', gateway.url).href);
  await page.locator('#past-switches td').getByText('Main switch (1 · 1)').first().waitFor();
  await line.goAway();
  await page.getByRole('link', { name: '7 days', exact: true }).click();
  await page
    .locator('#history-said')
    .getByText(/unavailable/)
    .waitFor();
  // The figures of 30 days would be taken for those of 7 days.
  await page.locator('#past-switches').waitFor({ state: 'hidden' });
  expect(await page.locator('#history-total').textContent()).toBe('');
  await line.comeBack();
  await page.locator('body > .outage').waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: '30 days', exact: true }).click();
  await page.locator('#past-switches td').getByText('Main switch (1 · 1)').first().waitFor();
  expect(await page.locator('#history-said').textContent()).toBe('');
});
