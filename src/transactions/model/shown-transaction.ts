import type { Transaction } from './transaction.ts';

/** What 2.1 and 2.2 are made of: a list reads as much of each row and no more, as most of a page's cost is in its values. */
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
