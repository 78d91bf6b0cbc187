import { type ColumnList, columnName } from '../postgres/column-batch.ts';

/** Columns that each attempt of a transaction sets again. */
export const ATTEMPT_COLUMNS = {
  attempt: 'integer',
  status: 'integer',
  disposition: 'integer',
  type: 'integer',
  originalId: 'uuid',
  amountMinor: 'bigint',
  currency: 'text',
  userClaim: 'text',
  userId: 'uuid',
  deviceInstallationId: 'text',
  fingerprint: 'text',
  readerId: 'text',
  readerTransactionId: 'text',
  latitude: 'text',
  longitude: 'text',
  scheme: 'text',
  maskedPan: 'text',
  panHash: 'text',
  sealedCard: 'bytes',
  handover: 'bytes',
  chipTags: 'bytes',
  xTid: 'text',
  consumerId: 'uuid',
  correlationId: 'uuid',
  tid: 'text',
  mid: 'text',
  routeId: 'integer',
  switchRevision: 'integer',
  stan: 'text',
  rrn: 'text',
  sentAtMs: 'ms',
  overdueJob: 'uuid',
  responseCode: 'text',
  authorizationCode: 'text',
  unusableAuthorizationCode: 'text',
  settlementDate: 'text',
  approvedMinor: 'bigint',
  cardTags: 'jsonb',
  cardType: 'text',
  providerReference: 'text',
  providerFields: 'jsonb',
  errorCode: 'integer',
  reversalState: 'integer',
  reversalAttempt: 'integer',
  reversalArmedAtMs: 'ms',
  needsReview: 'boolean',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  pinFingerprint: 'text',
  earlierAttempts: 'jsonb',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

/**
 * The columns of these properties, each with its property's name. Times are milliseconds, exact to the microsecond;
 * `extract` gives the same through `numeric`, for 1.5 µs more per value.
 */
export function selectList(properties: readonly string[]): string {
  return properties
    .map((property) => {
      const name = columnName(property);
      return `${property.endsWith('AtMs') ? `round(date_part('epoch', ${name}) * 1e6) / 1e3` : name} as "${property}"`;
    })
    .join(', ');
}
