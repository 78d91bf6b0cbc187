/** STANs are 000001 to 999999 (ISO 8583:1987, DE11), so a scope has this many per business date. */
export const STANS = 999_999;
