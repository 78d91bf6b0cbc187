import { describe, expect, test } from 'vitest';
import { HsmUnavailable, Overloaded } from '../../../src/basics/errors.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import type { TapRequest } from '../../../src/payments/ports/card-ports.ts';
import { submitTap } from '../../../src/payments/taps/submit-tap.ts';
import { sampleTransaction } from '../sample-transaction.ts';

const ANSWERED = { status: Status.RespondedToPhone, disposition: Disposition.Approved } as const;
const PRINCIPAL = { acquirerId: 1, merchantId: '1001', userClaim: 'till-3', xTid: null, profileName: null };
const TAP: TapRequest = {
  merchantReference: 'order-4711',
  generalCardData: 'general',
  paymentCardData: 'payment',
  deviceInstallationId: 'device-1',
};

/** A gateway whose HSM does not respond, so it opens no card data. */
function submit(before: Transaction | undefined, request = TAP, principal = PRINCIPAL): Promise<Transaction> {
  const fingerprint = ({ paymentCardData }: TapRequest) => `fingerprint of ${paymentCardData}`;
  const deps = {
    cardData: {
      fingerprint,
      isFingerprintOf: (known: string, asked: TapRequest) => known === fingerprint(asked),
      open: () => Promise.reject(new HsmUnavailable()),
    },
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    directory: {
      isBlockedDevice: () => false,
      merchant: () => ({ acquirerId: 1, integratorId: 10, id: '1001' }),
      user: () => undefined,
    },
    links: {},
    longestDeadlineSeconds: () => 30,
    newId: () => 'new',
    store: {
      find: async () => before,
      findByReference: async () => before,
      insert: () => Promise.reject(new Error('stored')),
    },
    wakeups: { moved: async () => {}, announce: () => {} },
  } as unknown as Parameters<typeof submitTap>[0];
  return submitTap(deps, principal, request);
}

describe('while the HSM does not respond', () => {
  const before = sampleTransaction({ ...ANSWERED, fingerprint: 'fingerprint of payment' });

  test('the repeat of an answered tap gets the stored response', async () => {
    expect(await submit(before)).toBe(before);
  });

  test.each<[string, Parameters<typeof submit>]>([
    ['a new tap', [undefined]],
    ['another card', [before, { ...TAP, paymentCardData: 'another' }]],
    ['another device', [before, { ...TAP, deviceInstallationId: 'device-2' }]],
    ['another user', [before, TAP, { ...PRINCIPAL, userClaim: 'till-4' }]],
    ['a tap that was refused', [{ ...before, status: Status.BadRequestReceived, disposition: null }]],
  ])('%s is refused, and nothing is stored', async (_what, asked) => {
    await expect(submit(...asked)).rejects.toBeInstanceOf(Overloaded);
  });
});
