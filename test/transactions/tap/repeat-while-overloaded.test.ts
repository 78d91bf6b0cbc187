import { describe, expect, test } from 'vitest';
import { HsmUnavailable, Overloaded, StoreUnavailable, StoreUnread } from '../../../src/basics/errors.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import type { TapRequest } from '../../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import { UNOBSERVED } from '../../support/unobserved.ts';
import { sampleTransaction } from '../sample-transaction.ts';

const RESPONDED = { status: Status.RespondedToPhone, disposition: Disposition.Approved } as const;
const PRINCIPAL = { acquirerId: 1, merchantId: '1001', userClaim: 'till-3', xTid: null, profileName: null };
const TAP: TapRequest = {
  merchantReference: 'order-4711',
  generalCardData: 'general',
  paymentCardData: 'payment',
  deviceInstallationId: 'device-1',
};

interface Conditions {
  /** Why no card data can be opened. */
  readonly open?: Error;
  /** Why rows cannot be read. */
  readonly read?: Error;
}

/** A gateway whose HSM does not respond, so it opens no card data. */
function submit(
  before: Transaction | undefined,
  request = TAP,
  principal = PRINCIPAL,
  { open = new HsmUnavailable(), read }: Conditions = {},
): Promise<Transaction> {
  const fingerprint = ({ paymentCardData }: TapRequest) => `fingerprint of ${paymentCardData}`;
  const deps = {
    cardData: {
      fingerprint,
      isFingerprintOf: (known: string, asked: TapRequest) => known === fingerprint(asked),
      open: () => Promise.reject(open),
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
    observer: UNOBSERVED,
    store: {
      find: async () => before,
      findByReference: () => (read ? Promise.reject(read) : Promise.resolve(before)),
      insert: () => Promise.reject(new Error('stored')),
    },
    wakeups: { moved: async () => {}, announce: () => {} },
  } as unknown as TransactionDependencies;
  return createUseCases(deps).taps.submit(principal, request);
}

describe('while the HSM does not respond', () => {
  const before = sampleTransaction({ ...RESPONDED, fingerprint: 'fingerprint of payment' });

  test('the repeat of a tap with a response gets the stored response', async () => {
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

describe('while the database takes no writes', () => {
  const before = sampleTransaction({ ...RESPONDED, fingerprint: 'fingerprint of payment' });
  const full = Object.assign(new Error('could not extend file: No space left on device'), {
    code: '53100',
    severity: 'ERROR',
  });

  test.each<[string, Error]>([
    ['its disk is full', new StoreUnavailable(false, { cause: full })],
    ['too many writes wait', new Overloaded('store')],
  ])('because %s, the repeat of a tap with a response gets the stored response', async (_why, open) => {
    expect(await submit(before, TAP, PRINCIPAL, { open })).toBe(before);
    await expect(submit(undefined, TAP, PRINCIPAL, { open })).rejects.toBe(open);
    await expect(submit(before, TAP, PRINCIPAL, { open, read: new StoreUnread() })).rejects.toBe(open);
  });

  test.each<[string, StoreUnavailable]>([
    ['the connection to it was lost', new StoreUnavailable(false, { cause: new Error('Connection terminated') })],
    ['it may have stored the tap', new StoreUnavailable(true, { cause: full })],
  ])('because %s, no row is read', async (_why, open) => {
    await expect(submit(before, TAP, PRINCIPAL, { open })).rejects.toBe(open);
  });
});
