import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.ts';
import { createLink, type HandedLink, letExpire } from '../support/links.ts';
import { launchChromium } from './chromium.ts';
import { Customer } from './customer.ts';

let installation: Installation;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

async function open({ id, token }: HandedLink, options: BrowserContextOptions): Promise<Customer> {
  const customer = await Customer.open(browser, `${installation.url}/pay/${id}#${token}`, options);
  onTestFinished(() => customer.close());
  return customer;
}

describe('a pay page in the language of the customer', () => {
  const known = new Set<string>();

  test.each([
    ['en-GB', 'en', '12,345.60', 'Ready to be paid.'],
    ['en-ZA', 'en', '12 345,60', 'Ready to be paid.'],
    ['af-ZA', 'af', '12 345,60', 'Gereed vir betaling.'],
    ['de-DE', 'de', '12.345,60', 'Bereit zur Zahlung.'],
    ['de-CH', 'de', "12'345.60", 'Bereit zur Zahlung.'],
    ['es-ES', 'es', '12.345,60', 'Listo para pagar.'],
    ['fr-FR', 'fr', '12 345,60', 'Prêt à être payé.'],
    ['pt-PT', 'pt', '12 345,60', 'Pronto a pagar.'],
    ['zh-CN', 'en', '12,345.60', 'Ready to be paid.'],
  ])('%s', async (locale, language, amount, words) => {
    const link = await createLink(installation, { amount: '12345.60' });
    const customer = await open(link, { locale });
    await customer.sees('waiting');
    expect(await customer.page.getAttribute('html', 'lang')).toBe(language);
    expect((await customer.part('h1').innerText()).replace(/\s+/g, ' ').replace('’', "'")).toBe(`ZAR ${amount}`);
    expect(await customer.text()).toContain(words);
    // Countries differ in the format of numbers alone, which changes widths.
    const isNew = !known.has(language);
    known.add(language);
    const expectWell = () => (isNew ? customer.expectWellMade() : customer.expectSound());
    await expectWell();
    await letExpire(installation.database, link.id);
    await customer.sees('expired');
    await expectWell();
  });

  test.each([
    ['CLF', '1234.5000', '1.234,5000'],
    ['BHD', '1234.500', '1.234,500'],
    ['JPY', '1234', '1.234'],
  ])('a pay page shows amounts with the decimals of %s', async (currencyCode, amount, shown) => {
    const customer = await open(await createLink(installation, { amount, currencyCode }), { locale: 'de-DE' });
    await customer.sees('waiting');
    expect(await customer.title()).toBe(`${currencyCode} ${shown} an Corner Coffee`);
  });
});
