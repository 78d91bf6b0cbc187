import { Forbidden } from '../../basics/errors.ts';
import type { Principal } from '../model/principal.ts';
import type { Directory, MerchantRecord } from '../ports/directory-ports.ts';

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
