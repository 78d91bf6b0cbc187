/**
 * `npm run screenshots`: makes the pictures of the documentation. Starts the same as `npm start`, in its own folder,
 * captures the pay page, puts it under load, and captures the console and the report of that load in a browser.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { launchChromium } from './chromium.ts';

const TAPWIRE = new URL('../../src/cli/tapwire.ts', import.meta.url);
const CONSOLE = new URL('../../src/console/console.png', import.meta.url);
const TRANSACTIONS = new URL('../../src/console/transactions.png', import.meta.url);
const PAY_PAGE = new URL('../../src/http/pay-page/screenshot-light.png', import.meta.url);
const REPORT = new URL('../../src/tools/load/report/report.png', import.meta.url);
/** Long enough for a curve, and for the switches' idle echoes. */
const LOAD_SECONDS = 90;
/** By then the console shows a curve, and the load continues. */
const PICTURE_AFTER_SECONDS = 75;
const WIDTH = 1_440;

const options = { rate: { type: 'string', default: '150' }, port: { type: 'string', default: '8480' } } as const;
const { values } = parseArgs({ options });
const folder = mkdtempSync(join(tmpdir(), 'tapwire-screenshots-'));
const environment = { ...process.env, TAPWIRE_DATA: folder, PORT: values.port };
const report = join(folder, 'report.html');

const tapwire = (...words: string[]) =>
  spawn(process.execPath, [TAPWIRE.pathname, ...words], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });

const demo = tapwire('demo', '--stay');
const browser = await launchChromium();
try {
  const printed = await untilPrinted(demo, /^Also try/m);
  const [, username, password] = /console\s+\S+\s+as (\S+)\s+(\S+)/.exec(printed)!;
  const [link] = /^http\S+\/pay\/\S+/m.exec(printed)!;
  await picturePayPage(browser, link);
  const load = tapwire(
    ...['load', '--rate', values.rate, '--duration', `${LOAD_SECONDS}s`, '--arrivals', 'poisson', '--report', report],
  );
  load.stdout!.pipe(process.stdout);
  const ended = once(load, 'exit');
  await pictureConsole(browser, { username: username!, password: password! });
  const [code] = await ended;
  if (code !== 0) throw new Error(`the load test ended with ${code}`);
  await pictureReport(browser);
} finally {
  await browser.close();
  demo.kill();
  await once(demo, 'exit');
  rmSync(folder, { recursive: true, force: true });
}

/** @returns what it has printed, when `last` is part of it */
function untilPrinted({ stdout }: ChildProcess, last: RegExp): Promise<string> {
  let printed = '';
  return new Promise((resolve, reject) => {
    stdout!.on('data', (chunk: Buffer) => {
      printed += String(chunk);
      if (last.test(printed)) resolve(printed);
    });
    stdout!.on('end', () => reject(new Error(`it ended: ${printed}`)));
  });
}

async function picturePayPage(chromium: Browser, link: string): Promise<void> {
  const context = await chromium.newContext({ colorScheme: 'light', viewport: { width: 960, height: 730 } });
  const page = await context.newPage();
  await page.goto(link);
  await page.locator('#qr-code').waitFor();
  await page.waitForTimeout(1_000); // the virtual phone appears a moment later
  await page.screenshot({ path: PAY_PAGE.pathname });
  await context.close();
}

interface Login {
  readonly username: string;
  readonly password: string;
}

async function pictureConsole(chromium: Browser, { username, password }: Login): Promise<void> {
  const context = await chromium.newContext({ colorScheme: 'dark', viewport: { width: WIDTH, height: 1_080 } });
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${values.port}/ops`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.locator('#queues tr').first().waitFor();
  await page.waitForTimeout(PICTURE_AFTER_SECONDS * 1_000);
  await page.screenshot({ path: CONSOLE.pathname });
  await page.getByRole('link', { name: 'Transactions', exact: true }).click();
  await page.locator('#list-rows tr').first().waitFor();
  await page.waitForTimeout(2_000); // the total is counted
  await page.screenshot({ path: TRANSACTIONS.pathname });
  await context.close();
}

/** Shows the charts of time, latency and outcomes. */
async function pictureReport(chromium: Browser): Promise<void> {
  const context = await chromium.newContext({ colorScheme: 'light', viewport: { width: WIDTH, height: 1_080 } });
  const page = await context.newPage();
  await page.goto(pathToFileURL(report).href);
  const last = await page.locator('figure').nth(3).boundingBox();
  const main = await page.locator('main').boundingBox();
  const margin = 16;
  const clip = { x: main!.x, y: 0, width: main!.width, height: last!.y + last!.height + margin };
  await page.screenshot({ path: REPORT.pathname, clip, fullPage: true });
  await context.close();
}
