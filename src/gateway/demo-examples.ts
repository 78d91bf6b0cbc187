import { randomUUID } from 'node:crypto';
import type { LiveExamples } from '../http/openapi/live-examples.ts';
import { Phone } from '../phone/phone.ts';
import { readProfile } from '../phone/profile.ts';

const AMOUNT = '10.00';
const CURRENCY = 'ZAR';

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
  return {
    credentials: { apiKey: profile.apiKey, merchantToken: await phone.token() },
    values: {
      ...tap,
      ...login,
      'X-Device-Installation-Id': deviceInstallationId,
      id: await lastSale(profile.url, profile.apiKey),
      merchantId: merchant.id,
      merchant: merchant.id,
      amount: AMOUNT,
      'refundSale.amount': '1.00',
      currency: CURRENCY,
      currencyCode: CURRENCY,
      refundReference: `refund-${randomUUID()}`,
      paymentReference: `order-${randomUUID()}`,
      timestamp: new Date().toISOString(),
    },
  };
}

/** The id of the last transaction that was approved; nothing that exists when there is none yet. */
async function lastSale(url: string, apiKey: string): Promise<string> {
  const query = '/transactions?transactionDisposition=Approved&limit=1';
  const response = await fetch(new URL(query, url), { headers: { 'x-api-key': apiKey } });
  const [last] = response.ok ? ((await response.json()) as { id: string }[]) : [];
  return last?.id ?? randomUUID();
}
