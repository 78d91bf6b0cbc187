/** Values of fields in the form that ISO 8583:1987 or 1993 defines for every switch. */
import type { Merchant } from './purchase.ts';

const NOT_ASCII = /[^\x20-\x7e]/;
const ALL_NOT_ASCII = /[^\x20-\x7e]/g;

/**
 * Card acceptor name and location (DE43, ans 40; ISO 8583:1987 4.3.31): name 23, city 13, region 2, country 2. A
 * longer name is truncated. Letters outside ASCII lose their accents; other characters become a space.
 */
export function acceptorNameLocation(merchant: Merchant): string {
  const name = fitTo(merchant.name, 23);
  const city = fitTo(merchant.city, 13);
  return `${name}${city}  ${fitTo(merchant.country, 2)}`;
}

/**
 * Card acceptor name and location of ISO 8583:1993 (DE43, ans ..99): name, street and city, each followed by a
 * backslash, then postal code 10, region 3 and country 3. Street, postal code and region are not known. A name or city
 * that would not fit is truncated. Characters outside ASCII as in `acceptorNameLocation`; a backslash becomes a space.
 */
export function acceptorAddress(merchant: Merchant): string {
  const part = (text: string, length: number) => toAscii(text).replaceAll('\\', ' ').slice(0, length).trimEnd();
  return `${part(merchant.name, 50)}\\\\${part(merchant.city, 30)}\\${fitTo('', 13)}${fitTo(merchant.country, 3)}`;
}

function fitTo(text: string, length: number): string {
  return toAscii(text).slice(0, length).padEnd(length);
}

function toAscii(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll(ALL_NOT_ASCII, ' ');
}

/** An amount in the form of DE4: n12, in minor units, with leading zeros (ISO 8583:1987 4.3.2). */
export function amountDigits(amountMinor: number): string {
  return String(amountMinor).padStart(12, '0');
}

/**
 * Retrieval reference number (DE37, an12): last digit of the year, day of the year, hour (all UTC), then the STAN.
 * Unique for ten years as long as a STAN does not repeat within an hour.
 *
 * @param stan six digits
 */
export function retrievalReference(atMs: number, stan: string): string {
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  const dayOfYear = Math.floor((atMs - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
  return `${year % 10}${String(dayOfYear).padStart(3, '0')}${String(at.getUTCHours()).padStart(2, '0')}${stan}`;
}

/** A STAN half the range away: for a simulated switch that responds with another STAN, which no nearby request has. */
export function otherStan(stan: string): string {
  return String(((Number(stan) + 500_000) % 999_999) + 1).padStart(6, '0');
}
