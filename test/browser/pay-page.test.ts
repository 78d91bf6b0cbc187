import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { AppPhone, ask, createLink, type HandedLink, letExpire, MANDATE } from '../support/links.ts';
import { voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { letAllDoubtsPass, storedTransaction } from '../support/transactions.ts';
import { launchChromium, PLAIN_HOST } from './chromium.ts';
import { Customer } from './customer.ts';

const ANDROID =
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36';

let installation: Installation;
/** A gateway with a payment app. */
let withApp: StartedGateway;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
  withApp = await installation.startGateway({
    INTENT_ACTION: 'com.example.pay.TAP',
    INTENT_PACKAGE: 'com.example.pay',
  });
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

const urlOf = ({ id, token }: Pick<HandedLink, 'id' | 'token'>, origin = installation.url) =>
  `${origin}/pay/${id}#${token}`;

/** A job that runs meanwhile may have read that it must wait for a minute: the time passes for it again. */
async function untilNothingWasTaken({ database }: Installation, id: string): Promise<void> {
  await eventually(async () => {
    await letAllDoubtsPass(database);
    const { reversalState } = await storedTransaction(database, id);
    expect(reversalState).toBe(ReversalState.acknowledged);
  });
}

async function open(url: string, options?: Parameters<typeof Customer.open>[2]): Promise<Customer> {
  const customer = await Customer.open(browser, url, options);
  onTestFinished(() => customer.close());
  return customer;
}

describe('a pay page without an app', () => {
  test('shows the merchant, the amount, the purpose and the expiry, and a QR code of its own address', async () => {
    const link = await createLink(installation, { amount: '12345.60', paymentReference: 'order-4711' });
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    expect(await customer.title()).toBe('ZAR 12,345.60 to Corner Coffee');
    expect(await customer.part('h1').innerText()).toMatch(/^ZAR\s+12,345\.60$/);
    const text = await customer.text();
    for (const shown of ['Corner Coffee', 'Reference', 'order-4711', 'Ready to be paid.'])
      expect(text).toContain(shown);
    expect(text).toMatch(/Expires in 1(?:5:00|4:\d\d)/);
    expect(await customer.readQrCode()).toBe(urlOf(link));
    expect(await customer.part('#open-app').isVisible()).toBe(false);
    await customer.expectWellMade();
  });

  test('does not count as a scan of the link', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    await customer.part('#qr-code').waitFor();
    const { rows } = await installation.database.query('select state from links where id = $1', [link.id]);
    expect(rows).toEqual([{ state: 0 }]);
  });

  test('removes the token from the address bar, and still has it after a reload', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    expect(customer.page.url()).toBe(`${installation.url}/pay/${link.id}`);
    await customer.page.reload();
    await customer.sees('waiting');
  });

  test('follows the payment on another phone to its end', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    await ask(installation, link, `/consumer/qrCodeDetails/${link.id}`);
    await customer.sees('scanned');
    await customer.expectWellMade();
    await ask(installation, link, '/consumer/acknowledge', { qrCodeId: link.id, status: 'TransactionStarted' });
    await customer.sees('started');
    await customer.expectWellMade();
    await new AppPhone(installation, link).pay();
    await customer.sees('paid');
    expect(await customer.part('[role=status]').first().innerText()).toContain('Paid.');
    for (const part of ['#ways', '#clock']) expect(await customer.part(part).isVisible()).toBe(false);
    await customer.expectWellMade();
  });

  test('asks not to pay again while an outcome is uncertain, and offers it after nothing was taken', async () => {
    const link = await createLink(installation, { amount: '10.77' });
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    const { serviceReference } = outcomeOf(await new AppPhone(installation, link).pay({ amount: '10.77' }));
    await customer.sees('uncertain');
    expect(await customer.text()).toContain('do not pay again');
    expect(await customer.part('#qr-code').isVisible()).toBe(false);
    await customer.expectWellMade();
    await untilNothingWasTaken(installation, serviceReference);
    await customer.sees('declined');
    expect(await customer.text()).toContain('Payment cancelled. No money was taken. You can pay again.');
    expect(await customer.part('#qr-code').isVisible()).toBe(true);
    await customer.expectWellMade();
  });

  test('shows the terms of a debit order, and neither account nor id number', async () => {
    const link = await createLink(installation, MANDATE, '/consumer/tt3Applink');
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    const text = await customer.text();
    expect(text.replace(/\s+/g, ' ')).toContain('ZAR 250.00 a month');
    for (const shown of ['ACME INSURE', 'day 25 of the month', 'ZAR 375.50', 'contract-12', 'nothing']) {
      expect(text).toContain(shown);
    }
    const { body } = await ask(installation, link, `/pay/${link.id}/state`);
    expect(JSON.stringify(body)).not.toMatch(new RegExp(`${MANDATE.accountNumber}|${MANDATE.idNumber}`));
    await customer.expectWellMade();
    await new AppPhone(installation, link).pay();
    await customer.sees('paid');
    expect(await customer.text()).toContain('Debit order authorised.');
  });

  test('shows the amount of a debit order that the creditor selected', async () => {
    const terms = { ...MANDATE, instalmentVisibility: 'maximumOnly' };
    const link = await createLink(installation, terms, '/consumer/tt3Applink');
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    const text = (await customer.text()).replace(/\s+/g, ' ');
    expect(text).toContain('ZAR 375.50 a month at most');
    expect(text).not.toContain('250.00');
  });

  test('shows its last state while the gateway is unavailable, and continues afterwards', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    await customer.page.route('**/state', (route) => route.abort());
    await customer.sees('offline');
    expect(await customer.text()).toMatch(/10\.00.*No connection/s);
    await customer.expectWellMade();
    await customer.page.unroute('**/state');
    await customer.sees('waiting');
  });
});

describe('a pay page while the bank is asked', () => {
  /** A page whose gateway reports a state that takes minutes to reach. */
  async function openWith(state: object) {
    const link = await createLink(installation);
    const customer = await Customer.before(browser);
    onTestFinished(() => customer.close());
    // The page asks again and again: when it is closed at the end, a response may be on its way.
    const { page } = customer;
    onTestFinished(() => page.unrouteAll({ behavior: 'ignoreErrors' }));
    await page.route('**/state', async (route) => {
      try {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), ...state } });
      } catch (error) {
        if (!page.isClosed()) throw error;
      }
    });
    await page.goto(urlOf(link));
    return customer;
  }

  test.each([
    [1, 'Most banks respond within seconds.'],
    [12, 'The bank is taking longer than usual.'],
    [41, 'Still no response from the bank.'],
  ])('a pay page while the bank is asked says after %i s: %s', async (waitedSeconds, words) => {
    const customer = await openWith({ qrCodeState: 'TransactionCreated', waitedSeconds });
    await customer.sees('processing');
    const text = await customer.text();
    expect(text).toContain(words);
    expect(text).toMatch(/Waiting for \d+:\d\d/);
    expect(text.includes('do not pay again')).toBe(waitedSeconds > 8);
    expect(await customer.part('#qr-code').isVisible()).toBe(false);
    await customer.expectWellMade();
  });

  test('changes its words as time passes, without news of the gateway', async () => {
    const customer = await openWith({ qrCodeState: 'TransactionCreated', waitedSeconds: 6 });
    await customer.sees('processing');
    await customer.page.route('**/state', () => {}); // no response
    await customer.part('#headline', 'The bank is taking longer than usual.').waitFor();
  });

  test('says that the payment may go on while there is no connection', async () => {
    const customer = await openWith({ qrCodeState: 'TransactionCreated', waitedSeconds: 1 });
    await customer.sees('processing');
    await customer.page.route('**/state', (route) => route.abort());
    await customer.sees('offline');
    expect(await customer.text()).toContain('The payment may go on. Look at the phone, and do not pay again.');
    await customer.expectWellMade();
  });

  test('asks for the PIN on the phone', async () => {
    const customer = await openWith({ qrCodeState: 'TransactionCreated', awaitsPin: true, waitedSeconds: 30 });
    await customer.sees('started');
    expect(await customer.text()).toContain('The bank requires the PIN. Enter it on the phone.');
    await customer.expectWellMade();
  });

  test('does not claim that its state is new while a response is late', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    await customer.page.route('**/state', () => {}); // no response
    await customer.sees('offline');
    expect(await customer.text()).toContain('Slow connection.');
    await customer.expectWellMade();
  });
});

test('a payment that the merchant cancels is shown as cancelled, and cannot be paid again', async () => {
  const link = await createLink(installation);
  const customer = await open(urlOf(link));
  await customer.sees('waiting');
  const { serviceReference } = outcomeOf(await new AppPhone(installation, link).pay());
  await customer.sees('paid');
  expect((await voidSale(installation, serviceReference)).status).toBe(202);
  // A page that shows a payment does not ask again whether it was cancelled since.
  await eventually(async () =>
    expect(await storedTransaction(installation.database, serviceReference)).toMatchObject({
      disposition: Disposition.Voided,
    }),
  );
  const later = await open(urlOf(link));
  await later.sees('expired');
  expect(await later.text()).toContain('Payment cancelled. The merchant cancelled it.');
  expect(await later.part('#ways').isVisible()).toBe(false);
  await later.expectWellMade();
});

describe('a pay page with another address', () => {
  test('finds its gateway below the path of a proxy', async () => {
    const link = await createLink(installation);
    const customer = await Customer.before(browser);
    onTestFinished(() => customer.close());
    const asked: string[] = [];
    await customer.page.route('**/*', async (route) => {
      const url = new URL(route.request().url());
      asked.push(url.pathname);
      if (!url.pathname.startsWith('/shop/')) return route.abort();
      const response = await route.fetch({ url: installation.url + url.pathname.replace('/shop/', '/') });
      return route.fulfill({ response });
    });
    await customer.page.goto(`${installation.url}/shop/pay/${link.id}#${link.token}`);
    await customer.sees('waiting');
    await customer.part('#qr-code').waitFor();
    expect(asked.filter((path) => !path.startsWith('/shop/'))).toEqual([]);
    await customer.part('#tap').click();
    await customer.sees('paid');
  });

  test('shows the payment over plain HTTP, and states why it accepts no card there', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link, installation.url.replace('127.0.0.1', PLAIN_HOST)));
    await customer.sees('waiting');
    expect(await customer.page.evaluate('isSecureContext')).toBe(false);
    expect(await customer.part('#phone-says').innerText()).toContain('Open this page over HTTPS');
    expect(await customer.part('#tap').isDisabled()).toBe(true);
    await customer.expectWellMade();
  });
});

describe('a pay page of a link that cannot be paid', () => {
  test('states that it has expired, also while it is open', async () => {
    const link = await createLink(installation);
    const customer = await open(urlOf(link));
    await customer.sees('waiting');
    await letExpire(installation.database, link.id);
    await customer.sees('expired');
    expect(await customer.title()).toBe('This payment link has expired');
    expect(await customer.part('h1').innerText()).toBe('This payment link has expired');
    expect(await customer.part('#ways').isVisible()).toBe(false);
    await customer.expectWellMade();
    const later = await open(urlOf(link));
    await later.sees('expired');
    await later.expectWellMade();
  });

  test('shows a link of another owner like an unknown one', async () => {
    const [link, other] = [await createLink(installation), await createLink(installation)];
    const customer = await open(urlOf({ ...link, id: other.id }));
    await customer.sees('unknown');
    const shown = await customer.text();
    await customer.expectWellMade();
    const stranger = await open(urlOf({ ...link, id: randomUUID() }));
    await stranger.sees('unknown');
    expect(await stranger.text()).toBe(shown);
  });

  test.each([
    ['has no token', (link: HandedLink) => `/pay/${link.id}`],
    ['has half of a token', (link: HandedLink) => `/pay/${link.id}#${link.token.slice(0, 60)}`],
    ['has a token without a signature', (link: HandedLink) => `/pay/${link.id}#${link.token.slice(0, -4)}AAAA`],
    ['is cut off within its reference', (link: HandedLink) => `/pay/${link.id.slice(0, 13)}#${link.token}`],
  ])('states that its address is not complete if it %s', async (_which, pathOf) => {
    const customer = await open(`${installation.url}${pathOf(await createLink(installation))}`);
    await customer.sees('broken');
    expect(await customer.text()).toContain('This payment link is not complete');
    await customer.expectWellMade();
  });

  test('states that a link for the merchant’s own app has no page', async () => {
    const customer = await open(urlOf(await createLink(installation, { isConsumerApp: false })));
    await customer.sees('reader-app');
    expect(await customer.text()).toContain('the merchant’s own reader app');
    expect(await customer.text()).not.toContain('10.00');
    await customer.expectWellMade();
  });
});

describe('a pay page on a phone with the payment app', () => {
  /** The named parts of an intent address. */
  const partsOf = (address: string) =>
    Object.fromEntries(
      address
        .replace(/^intent:#Intent;/, '')
        .split(';')
        .map((part) => [part.split('=')[0]!, decodeURIComponent(part.slice(part.indexOf('=') + 1))]),
    );

  /** Opens a page on Android, and returns the other addresses that it navigated to. */
  async function openOnAndroid(url: string) {
    const customer = await Customer.before(browser, { userAgent: ANDROID, viewport: { width: 360, height: 740 } });
    onTestFinished(() => customer.close());
    const wanted: string[] = [];
    const protocol = await customer.page.context().newCDPSession(customer.page);
    await protocol.send('Page.enable');
    protocol.on('Page.frameRequestedNavigation', (navigation) => wanted.push(navigation.url));
    // Opening the app interrupts the loading of the page.
    await customer.page.goto(url, { waitUntil: 'commit' });
    return { customer, wanted };
  }

  test('opens it automatically once, and with a button, with everything it needs', async () => {
    const link = await createLink(installation);
    const url = urlOf(link, withApp.url);
    const { customer, wanted } = await openOnAndroid(url);
    await customer.sees('waiting');
    const button = customer.part('#open-app');
    await button.waitFor();
    const address = (await button.getAttribute('href'))!;
    expect(address).toMatch(/^intent:#Intent;.*;end$/);
    expect(partsOf(address)).toMatchObject({
      action: 'com.example.pay.TAP',
      package: 'com.example.pay',
      'B.is_tap': 'true',
      'S.transaction_id': link.id,
      'S.jwt': link.token,
      'S.browser_fallback_url': `${url}&app=none`,
    });
    await customer.expectWellMade();
    expect(wanted).toEqual([address]);
    await customer.page.reload();
    await button.waitFor();
    expect(wanted.filter((each) => each.startsWith('intent:'))).toEqual([address]);
    expect(await customer.part('#qr-code').isVisible()).toBe(false);
  });

  test('shows the QR code when Android returns because there is no such app', async () => {
    const link = await createLink(installation);
    const { customer, wanted } = await openOnAndroid(urlOf(link, withApp.url));
    await customer.part('#open-app').waitFor();
    const [address] = wanted;
    await customer.page.evaluate(`location.assign(${JSON.stringify(partsOf(address!)['S.browser_fallback_url'])})`);
    await customer.part('#qr-code').waitFor();
    expect(await customer.part('#open-app').isVisible()).toBe(false);
    expect(await customer.text()).toContain('No payment app on this phone?');
    expect(customer.page.url()).toBe(`${withApp.url}/pay/${link.id}`);
    await customer.expectWellMade();
    expect(wanted.filter((each) => each.startsWith('intent:'))).toEqual([address]);
  });

  test('opens nothing for a link that cannot be paid', async () => {
    const link = await createLink(installation);
    await letExpire(installation.database, link.id);
    const { customer, wanted } = await openOnAndroid(urlOf(link, withApp.url));
    await customer.sees('expired');
    expect(wanted).toEqual([]);
  });

  test('shows the QR code if no app is known, or the phone is not an Android phone', async () => {
    const { customer, wanted } = await openOnAndroid(urlOf(await createLink(installation)));
    await customer.part('#qr-code').waitFor();
    expect(wanted).toEqual([]);
    const desktop = await open(urlOf(await createLink(installation), withApp.url));
    await desktop.part('#qr-code').waitFor();
  });
});
