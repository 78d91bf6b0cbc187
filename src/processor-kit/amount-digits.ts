/** An amount in the form of DE4: n12, in minor units, with leading zeros (ISO 8583:1987 4.3.2). */
export function amountDigits(amountMinor: number): string {
  return String(amountMinor).padStart(12, '0');
}
