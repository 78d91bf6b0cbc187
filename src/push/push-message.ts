import type { PushedPayment } from './ports.ts';

/**
 * Contains both the link and the fields (6.2), so that every version of the SDK finds what it supports. All values
 * are text.
 */
export function pushData(payment: PushedPayment): Readonly<Record<string, string>> {
  const { reference, url, token, amount, currency, merchantReference } = payment;
  return { link: url, reference, amount, currency, merchantReference, configJwt: token };
}
