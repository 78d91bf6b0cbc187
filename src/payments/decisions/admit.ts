import { hash } from 'node:crypto';
import { Forbidden, invalidValue, MoneyError } from '../../basics/errors.ts';
import type { Link } from '../model/link.ts';
import { type Currency, parseAmount } from '../model/money.ts';
import type { Directory, MerchantRecord, Principal } from '../ports/directory-ports.ts';

/** The identity of a request: the merchant's record, and the known user if the token names one. */
export interface Admitted {
  readonly merchant: MerchantRecord;
  readonly userId: string | null;
}

/** @throws Forbidden for a user who is blocked, or who does not belong to the merchant */
export function admitUser(
  directory: Pick<Directory, 'merchant' | 'user'>,
  { acquirerId, merchantId, userClaim }: Pick<Principal, 'acquirerId' | 'merchantId' | 'userClaim'>,
): Admitted {
  const merchant = directory.merchant(acquirerId, merchantId);
  if (!merchant) throw new Forbidden('FORBIDDEN');
  const user = userClaim === null ? undefined : directory.user(merchant, userClaim);
  if (user?.isOfAnother) throw new Forbidden('FORBIDDEN');
  if (user?.isBlocked) throw new Forbidden('BLOCKED_USER');
  return { merchant, userId: user?.id ?? null };
}

/** @throws Forbidden as `admitUser` does, and for a blocked device */
export function admit(
  { directory }: { readonly directory: Pick<Directory, 'merchant' | 'user' | 'isBlockedDevice'> },
  principal: Principal,
  deviceInstallationId: string,
): Admitted {
  if (directory.isBlockedDevice(principal.acquirerId, deviceInstallationId)) throw new Forbidden('BLOCKED_DEVICE');
  return admitUser(directory, principal);
}

const AMOUNT_FAULTS: Readonly<Record<MoneyError['code'], string>> = {
  NOT_AN_AMOUNT: 'must be a decimal amount',
  TOO_MANY_DECIMALS: 'must not have more decimals than the currency',
  AMOUNT_TOO_LARGE: 'must have at most 12 digits',
  UNKNOWN_CURRENCY: 'must be in a currency of ISO 4217',
};

/**
 * Reads an amount that a request names as decimal text in major units.
 *
 * @param name the field of the request, for the pointer of the error
 * @returns minor units, greater than zero
 * @throws RequestRejected (INVALID_VALUES)
 */
export function readRequestedAmount(name: string, text: string, currency: Currency): number {
  try {
    const amountMinor = parseAmount(text, currency);
    if (amountMinor > 0) return amountMinor;
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw invalidValue(name, AMOUNT_FAULTS[error.code]);
  }
  throw invalidValue(name, 'must be greater than zero');
}

/**
 * The merchantReference that the details of a link offer after its paymentReference was used, because one reference
 * stands for one authorization. It is derived from the link and its last tap, so it needs no storage, and the commit
 * of the next tap changes it. It is a UUID of version 8 (RFC 9562 5.8), so it never equals the id of a link or a
 * transaction, which are version 4.
 */
export function offeredReference({ id, transactionId }: Pick<Link, 'id' | 'transactionId'>): string {
  const digits = hash('sha256', `offered reference ${id} ${transactionId ?? ''}`, 'hex');
  const variant = ((Number.parseInt(digits[16]!, 16) & 0x3) | 0x8).toString(16);
  const groups = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
  ];
  return `${groups.join('-')}-${digits.slice(20, 32)}`;
}

/** Whether a tap with the token of a link may be submitted under this reference (contract, "Authentication"). */
export function admitsReference(link: Link, merchantReference: string): boolean {
  return merchantReference === link.paymentReference || merchantReference === offeredReference(link);
}
