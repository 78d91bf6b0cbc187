import type { Transaction } from './transaction.ts';

/**
 * The properties that 2.1 and 2.2 show. A list reads only these of each row, because most of the cost of a page is
 * in its values.
 */
export const SHOWN_PROPERTIES = [
  'acquirerId',
  'id',
  'merchantId',
  'merchantReference',
  'createdAtMs',
  'updatedAtMs',
  'status',
  'disposition',
  'type',
  'originalId',
  'amountMinor',
  'approvedMinor',
  'currency',
  'userClaim',
  'userId',
  'deviceInstallationId',
  'latitude',
  'longitude',
  'scheme',
  'maskedPan',
  'sealedCard',
  'chipTags',
  'tid',
  'routeId',
  'responseCode',
  'authorizationCode',
  'earlierAttempts',
] as const satisfies readonly (keyof Transaction)[];

export type ShownTransaction = Pick<Transaction, (typeof SHOWN_PROPERTIES)[number]>;
