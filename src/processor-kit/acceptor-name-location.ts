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

function fitTo(text: string, length: number): string {
  return toAscii(text).slice(0, length).padEnd(length);
}

function toAscii(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll(ALL_NOT_ASCII, ' ');
}
