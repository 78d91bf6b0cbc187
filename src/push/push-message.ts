import type { PushedPayment } from './ports.ts';

/** Both the link and the fields (6.2), so that every version of the SDK finds what it knows. All values are text. */
export function pushData(payment: PushedPayment): Readonly<Record<string, string>> {
  const { reference, url, token, amount, currency, merchantReference } = payment;
  return { link: url, reference, amount, currency, merchantReference, configJwt: token };
}
