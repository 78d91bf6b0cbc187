/** An authorization as booked in the ledger. */
export const sale = {
  processor: 'type-1',
  key: '000001-0630123456-T1',
  kind: 'sale',
  stan: '000001',
  rrn: '618112000001',
  tid: 'T1',
  currencyNumeric: '710',
  amountMinor: 1_000,
  approvedMinor: 1_000,
  authorizationCode: '000001',
  approvedAtMs: 0,
} as const;
