import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { SAMPLE_CARDS } from '../../src/card/sample-tap.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation, untilSignedOn } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { AppPhone, createLink, type HandedLink, statusOf } from '../support/links.ts';
import { RIGHT_PIN, WRONG_PIN } from '../support/pins.ts';
import { secretsIn } from '../support/secrets.ts';
import { launchChromium } from './chromium.ts';
import { Customer } from './customer.ts';

let installation: Installation;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

interface Payment {
  readonly link: HandedLink;
  readonly customer: Customer;
}

/** A link, and its page with the virtual phone beside it. */
async function ask(amount: string): Promise<Payment> {
  const link = await createLink(installation, { amount });
  return { link, customer: await openPage(link) };
}

async function openPage({ id, token }: HandedLink, origin = installation.url): Promise<Customer> {
  const customer = await Customer.open(browser, `${origin}/pay/${id}#${token}`);
  onTestFinished(() => customer.close());
  await customer.sees('waiting');
  return customer;
}

const tap = (customer: Customer) => customer.part('#tap').click();
const enterPin = async (customer: Customer, pin: string) => {
  await customer.part('#pin').fill(pin);
  await customer.page.keyboard.press('Enter');
};

/** Waits for the phone's final message on a tap. */
async function outcome(customer: Customer): Promise<string> {
  await customer.part('#outcome').waitFor();
  return customer.part('#outcome').innerText();
}

const receipt = async (customer: Customer) => (await customer.part('#receipt').innerText()).replace(/\s+/g, ' ');

describe('the virtual phone', () => {
  test('pays like a payment app, state by state, and shows a receipt', async () => {
    const { link, customer } = await ask('10.00');
    await customer.expectWellMade();
    await tap(customer);
    expect(await outcome(customer)).toBe('Approved');
    await customer.sees('paid');
    await customer.expectWellMade();
    const status = await statusOf(installation, link.id);
    expect(status).toMatchObject({ qrCodeState: 'ResponseReceivedByPhone', disposition: 'Approved' });
    const shown = await receipt(customer);
    expect(shown).toContain('Card Visa •••• 1111');
    expect(shown).toContain(`Approval code ${status.authorisationCode}`);
    expect(shown).toContain(`Reference ${link.paymentReference}`);
    await customer.part('.calls summary').click();
    const calls = (await customer.part('#calls').innerText()).split('\n').map((line) => line.trim());
    expect(calls).toEqual([
      'GET /consumer/qrCodeDetails/{id} ok',
      'POST /consumer/acknowledge TransactionStarted ok',
      'POST /dev/virtual-reader/tap ok',
      'GET /.well-known/card-data-keys.json ok',
      'POST /transactions/mobile ok',
      'POST /consumer/acknowledge ResponseReceivedByPhone ok',
    ]);
  });

  test('has the sample cards, and pays with the selected one', async () => {
    const { customer } = await ask('10.00');
    const shown = await customer.part('.cards fieldset').innerText();
    for (const { pan } of Object.values(SAMPLE_CARDS)) expect(shown).toContain(`•••• ${pan.slice(-4)}`);
    await customer.part('input[value=amex]').check();
    await tap(customer);
    expect(await outcome(customer)).toBe('Approved');
    expect(await receipt(customer)).toContain('Card Amex •••• 0126');
  });

  test('shows a decline, and then accepts another card', async () => {
    const { link, customer } = await ask('10.51');
    await tap(customer);
    expect(await outcome(customer)).toBe('Declined');
    expect(await customer.part('#reason').innerText()).toBe('Not sufficient funds');
    await customer.sees('declined');
    await customer.expectWellMade();
    await customer.part('#again').click();
    await customer.part('input[value=mastercard]').check();
    await tap(customer);
    expect(await outcome(customer)).toBe('Declined');
    expect(await receipt(customer)).toContain('Mastercard •••• 0640');
    const text = 'select count(distinct merchant_reference)::integer as taps from transactions where consumer_id = $1';
    const { rows } = await installation.database.query(text, [link.id]);
    expect(rows).toEqual([{ taps: 2 }]);
  });

  test('asks for the PIN that the bank requires, and again if it is wrong', async () => {
    const { customer } = await ask('50.05');
    await tap(customer);
    await customer.part('#pin').waitFor();
    expect(await customer.part('#phone-says').innerText()).toBe('The bank requires your PIN.');
    await customer.expectWellMade();
    await enterPin(customer, WRONG_PIN);
    await customer.part('#phone-says', 'Wrong PIN. Try again.').waitFor();
    expect(await customer.part('#pin').inputValue()).toBe('');
    await customer.expectWellMade();
    await enterPin(customer, RIGHT_PIN);
    expect(await outcome(customer)).toBe('Approved');
    await customer.sees('paid');
  });

  test('pays with the right PIN at once', async () => {
    const { customer } = await ask('50.05');
    await tap(customer);
    await enterPin(customer, RIGHT_PIN);
    expect(await outcome(customer)).toBe('Approved');
  });

  test('does not send an invalid PIN', async () => {
    const { customer } = await ask('50.05');
    await tap(customer);
    await enterPin(customer, '12a');
    await customer.page.keyboard.press('Enter');
    expect(await customer.part('#pin:invalid').count()).toBe(1);
    expect(await customer.part('#calls').innerText()).not.toContain('virtual-reader/pin');
    await enterPin(customer, RIGHT_PIN);
    expect(await outcome(customer)).toBe('Approved');
  });

  test('makes clear that a payment without a response must not be repeated', async () => {
    const { customer } = await ask('10.69');
    await tap(customer);
    await customer.part('#busy').waitFor();
    await customer.sees('processing');
    await customer.expectWellMade();
    expect(await outcome(customer)).toBe('No response from the bank');
  });

  test('cannot pay what another phone has paid', async () => {
    const { link, customer } = await ask('10.00');
    // This page does not learn of it in time.
    await customer.page.route('**/state', (route) => route.abort());
    await new AppPhone(installation, link).pay();
    await tap(customer);
    expect(await outcome(customer)).toBe('Not accepted');
    await customer.page.unroute('**/state');
    await customer.sees('paid');
    expect(await customer.part('#again').isVisible()).toBe(false);
    await customer.expectWellMade();
  });

  test('repeats its request after a lost connection, and pays once', async () => {
    const { customer } = await ask('10.00');
    const { authorizations } = installation.asked;
    // The tap arrives, its response does not.
    await customer.page.route('**/transactions/mobile', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await tap(customer);
    expect(await outcome(customer)).toBe('No response');
    await customer.page.unroute('**/transactions/mobile');
    await customer.expectWellMade();
    await customer.part('#again').click();
    await customer.part('#outcome', 'Approved').waitFor();
    expect(installation.asked.authorizations).toBe(authorizations + 1);
  });

  test('can be used by keyboard alone, with a visible focus', async () => {
    const { customer } = await ask('50.05');
    const { keyboard } = customer.page;
    await keyboard.press('Tab');
    expect(await customer.part('input[value=visa]:focus').count()).toBe(1);
    await keyboard.press('ArrowDown');
    await keyboard.press('Tab');
    expect(await customer.part('#tap:focus').count()).toBe(1);
    await keyboard.press('Enter');
    await customer.part('#pin:focus').waitFor();
    await keyboard.type(RIGHT_PIN);
    await keyboard.press('Enter');
    await customer.part('#outcome:focus').waitFor();
    expect(await receipt(customer)).toContain('Mastercard •••• 0640');
  });
});

test('neither the token of a link, nor a PIN, nor a card is in a log, not even in one of every request', async () => {
  const gateway = await GatewayProcess.start(installation, 'all', { LOG_LEVEL: 'trace' });
  await eventually(() => untilSignedOn(gateway.url));
  const link = await createLink(installation, { amount: '50.05' });
  const customer = await openPage(link, gateway.url);
  await tap(customer);
  await enterPin(customer, RIGHT_PIN);
  expect(await outcome(customer)).toBe('Approved');
  await customer.sees('paid');
  const [, claims, signature] = link.token.split('.') as [string, string, string];
  expect(gateway.output).toContain('"route":"/pay/:reference/state"');
  const marks = [
    { name: 'claims of the token', text: claims },
    { name: 'signature of the token', text: signature },
    { name: 'PAN', text: SAMPLE_CARDS.visa.pan },
  ];
  expect(secretsIn(gateway.output, marks)).toEqual([]);
  expect(gateway.output).not.toMatch(new RegExp(`[":= ]${RIGHT_PIN}[", ]`));
  expect(await customer.page.content()).not.toContain(signature);
});
