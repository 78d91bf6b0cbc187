/** How a value travels inside the JSON of a batch, and what it becomes in its column. */
type ColumnKind = 'integer' | 'float8' | 'text' | 'uuid' | 'jsonb' | 'boolean' | 'bytes' | 'ms';

/** Columns by the name of the property that fills them. */
export type ColumnList = Readonly<Record<string, ColumnKind>>;

/** What each attempt of a transaction sets anew. */
export const ATTEMPT_COLUMNS = {
  attempt: 'integer',
  status: 'integer',
  disposition: 'integer',
  type: 'integer',
  originalId: 'uuid',
  amountMinor: 'float8',
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
  stan: 'text',
  rrn: 'text',
  sentAtMs: 'ms',
  overdueJob: 'uuid',
  responseCode: 'text',
  authorizationCode: 'text',
  approvedMinor: 'float8',
  cardTags: 'jsonb',
  cardType: 'text',
  providerReference: 'text',
  providerFields: 'jsonb',
  errorCode: 'integer',
  reversalState: 'integer',
  reversalAttempt: 'integer',
  needsReview: 'boolean',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  pinFingerprint: 'text',
  earlierAttempts: 'jsonb',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

/**
 * The three column lists that a batch statement needs: the record definition for `json_to_recordset` (properties keep
 * their names, quoted), the columns' names, and the expressions that fill them from `x`.
 */
export function recordset(columns: ColumnList): { record: string; names: string; values: string } {
  const entries = Object.entries(columns);
  return {
    record: entries.map(([property, kind]) => `"${property}" ${recordType(kind)}`).join(', '),
    names: entries.map(([property]) => columnName(property)).join(', '),
    values: entries.map(([property, kind]) => columnValue(property, kind)).join(', '),
  };
}

/** `status = x."status", ...`: the assignments of an update that takes these columns from `x`. */
export function assignments(columns: ColumnList): string {
  return Object.entries(columns)
    .map(([property, kind]) => `${columnName(property)} = ${columnValue(property, kind)}`)
    .join(', ');
}

/** `createdAtMs` -> `created_at`: a column of time has no unit in its name. */
export function columnName(property: string): string {
  return property.replace(/AtMs$/, 'At').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function recordType(kind: ColumnKind): string {
  if (kind === 'bytes') return 'text';
  return kind === 'ms' ? 'float8' : kind;
}

function columnValue(property: string, kind: ColumnKind): string {
  if (kind === 'bytes') return `decode(x."${property}", 'base64')`;
  if (kind === 'ms') return `to_timestamp(x."${property}" / 1000)`;
  return `x."${property}"`;
}

/** Bytes on their way into a `bytes` column. */
export function base64(bytes: Uint8Array | null): string | null {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
