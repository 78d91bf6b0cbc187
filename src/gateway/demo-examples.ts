import { randomUUID } from 'node:crypto';
import type { LiveExamples } from '../http/openapi/live-examples.ts';
import { Phone, signMerchantToken } from '../phone/phone.ts';
import { readProfile } from '../phone/profile.ts';

const AMOUNT = '10.00';
const CURRENCY = 'ZAR';
/** Operations whose `id` is a sale's. */
const OF_THE_LAST_SALE = ['getTransaction', 'listEventsOfTransaction', 'refundSale'];
/** Operations that take a reference which nothing has used yet, and how they call it. */
const CREATIONS = [
  ...['createDeepLink', 'createApplink', 'createTt3Applink'].map((operation) => `${operation}.paymentReference`),
  ...['createIntentTransaction', 'createTt3IntentTransaction'].map((operation) => `${operation}.paymentReference`),
  'pushPaymentToDevice.merchantReference',
];
/** What a merchant's backend claims for itself, and not for its phones. */
const RIGHTS = 'createMobileProximityToken transactions:refund';
/** A receiver on one's own machine; whether there is one shows when something is sent. */
const CALLBACK_URL = 'http://127.0.0.1:9300/';

/**
 * Examples for the API reference of a demo, by the profile that it has written: with its credentials, a tap that was sealed
 * a moment ago and a sale that there is.
 *
 * @param path of the profile; read each time, since the demo writes it when it starts
 */
export async function demoExamples(path: string): Promise<LiveExamples> {
  const profile = readProfile(path);
  const phone = new Phone(profile);
  const { deviceInstallationId, ...tap } = await phone.seal({ amount: AMOUNT, currency: CURRENCY });
  const { merchant, login } = profile;
  const [last, before] = await lastSales(profile.url, profile.apiKey);
  return {
    credentials: { apiKey: profile.apiKey, merchantToken: await signMerchantToken(profile, { scope: RIGHTS }) },
    values: {
      ...tap,
      ...login,
      'X-Device-Installation-Id': deviceInstallationId,
      ...Object.fromEntries(OF_THE_LAST_SALE.map((operation) => [`${operation}.id`, last])),
      'voidSale.id': before,
      ...Object.fromEntries(CREATIONS.map((name) => [name, `order-${randomUUID()}`])),
      merchantId: merchant.id,
      amount: AMOUNT,
      'refundSale.amount': '1.00',
      currency: CURRENCY,
      currencyCode: CURRENCY,
      refundReference: `refund-${randomUUID()}`,
      timestamp: new Date().toISOString(),
      callbackUrl: CALLBACK_URL,
    },
  };
}

/** Among so many of the last there is a sale, in a demo. */
const RECENT = 50;
const TAP = 1;

/** The last two sales that were approved, the last first; what is not there has an id of nothing. */
async function lastSales(url: string, apiKey: string): Promise<readonly [string, string]> {
  const query = `/transactions?transactionDisposition=Approved&limit=${RECENT}`;
  const response = await fetch(new URL(query, url), { headers: { 'x-api-key': apiKey } });
  const recent = response.ok ? ((await response.json()) as { id: string; transactionTypeId: number }[]) : [];
  const sales = recent.filter(({ transactionTypeId }) => transactionTypeId === TAP).map(({ id }) => id);
  return [sales[0] ?? randomUUID(), sales[1] ?? randomUUID()];
}
