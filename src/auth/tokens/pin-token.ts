import { type PinTokenClaims, pinTokenClaims } from '#schemas/pin';
import { AuthError } from '../../basics/errors.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { PinTokens, PinTokenVerdict } from '../../payments/ports/pin-ports.ts';
import type { OwnTokens } from './own-tokens.ts';

/**
 * The tokens of the PIN step, bound to a transaction, its attempt and its device. They are not stored: the row
 * contains the attempt and the time limit of the PIN. A token can therefore be created again for a repeated response,
 * and the next attempt invalidates every token of the previous one.
 */
export function createPinTokens(tokens: OwnTokens): PinTokens {
  return {
    issue: ({ id, attempt, merchantId, deviceInstallationId, pinExpiresAtMs }) => {
      const claims: PinTokenClaims = { txn: id, attempt, device: deviceInstallationId };
      // Rounded up to the next second; in between, the row decides.
      const exp = Math.ceil((pinExpiresAtMs ?? 0) / 1_000);
      return tokens.sign('pin', { ...claims, sub: merchantId, jti: `${id}.${attempt}`, exp });
    },
    check: (token, transaction) => check(tokens, token, transaction),
  };
}

async function check(tokens: OwnTokens, token: string, transaction: Transaction): Promise<PinTokenVerdict> {
  try {
    const claims = pinTokenClaims.safeParse(await tokens.verify('pin', token));
    if (!claims.success) return 'foreign';
    const { txn, attempt, device } = claims.data;
    if (txn !== transaction.id || device !== transaction.deviceInstallationId) return 'foreign';
    return attempt === transaction.attempt ? 'good' : 'spent';
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return error.code === 'JWT_EXPIRED' ? 'spent' : 'foreign';
  }
}
