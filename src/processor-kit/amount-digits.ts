/** An amount as DE4 and its like carry it: n12, in minor units, zeros in front (ISO 8583:1987 4.3.2). */
export function amountDigits(amountMinor: number): string {
  return String(amountMinor).padStart(12, '0');
}
