import { beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import type { LinkServices } from '../../src/payments/links/create-link.ts';
import type { JobRequest } from '../../src/payments/model/decision.ts';
import type { Link } from '../../src/payments/model/link.ts';
import { createLogSender, NO_PUSH_SENDER } from '../../src/push/fcm-sender.ts';
import type { DeviceStore, PushDevice, PushMessage, PushRecord, PushResult } from '../../src/push/ports.ts';
import { PushPayments } from '../../src/push/push-payments.ts';

const OWNER = { acquirerId: 1, integratorId: 10 };
const DEVICE: PushDevice = {
  ...OWNER,
  merchantId: '1001',
  deviceInstallationId: 'phone',
  id: '0b6f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11',
  sealedPushToken: Uint8Array.of(1),
};
const LINK_ID = '9f2a7f5e-6a53-4d1e-9d43-5a4f8f0f1c22';
const REQUEST = { deviceId: 'phone', amount: '1', currency: 'JPY', merchantReference: 'order', qrCodeSize: undefined };
const JOB = { acquirerId: 1, reference: LINK_ID, deviceId: DEVICE.id, attempt: 2 };
const UNAVAILABLE: PushResult = { kind: 'unavailable', retryAfterSeconds: undefined };

let results: PushResult[];
let sent: { message: PushMessage; timeoutMs: number }[];
let enqueued: JobRequest[];
let failed: object[];
let recorded: PushRecord[];
let link: Link | undefined;
let isBlocked: boolean;
beforeEach(() => {
  results = [];
  recorded = [];
  [sent, enqueued, failed] = [[], [], []];
  isBlocked = false;
  const times = { expiresAtMs: 1_000_000, createdAtMs: 0, updatedAtMs: 0 };
  const asked = {
    kind: 'link',
    type: 1,
    paymentReference: 'order',
    amountMinor: 1,
    currency: 'JPY',
    mandate: null,
  } as const;
  link = {
    ...OWNER,
    ...asked,
    ...times,
    ...{ id: LINK_ID, merchantId: '1001', isConsumerApp: true, xTid: null },
    ...{ state: 0, transactionId: null, isPast: false, isHeld: false },
  };
});

/**
 * Pushes to one device, through a push service that returns `results` one after the other and then accepts everything.
 */
function pushesTo(device = DEVICE): PushPayments {
  const services: LinkServices = {
    links: { create: async () => 'created', findCreated: async () => undefined },
    tokens: { issue: async () => 'intent-token' },
    restoreHolds: { find: async () => undefined, hold: async () => {} },
    directory: { lostWindow: () => undefined, terminal: () => undefined },
    merchants: { findOwned: () => ({ integratorId: 10, isBlocked: false }) },
    clock: { nowMs: () => 0 },
    newId: () => LINK_ID,
    lifetimeMinutes: 15,
    appUrl: () => 'https://pay.example',
  };
  const devices = { find: async () => [device], dropToken: async () => {} } as unknown as DeviceStore;
  return new PushPayments({
    devices,
    services,
    vault: { seal: () => Uint8Array.of(), open: () => new Secret('push-token') },
    links: { find: async () => link },
    sender: {
      send: async (message, timeoutMs) => {
        sent.push({ message, timeoutMs });
        return results.shift() ?? { kind: 'sent' };
      },
    },
    directory: { isBlockedDevice: () => isBlocked },
    record: async (push) => void recorded.push(push),
    enqueue: async (job) => void enqueued.push(job),
    onFailed: (push) => failed.push(push),
  });
}

describe('the first attempt', () => {
  test('is short, because the caller waits, and is the only one if it succeeds', async () => {
    expect(await pushesTo().push(OWNER, REQUEST)).toMatchObject({ reference: LINK_ID, status: 'sent' });
    expect(sent).toMatchObject([{ timeoutMs: 3_000, message: { ttlSeconds: 300, data: { amount: '1' } } }]);
    expect(enqueued).toEqual([]);
  });

  test.each([
    [undefined, 5],
    [2, 5],
    [30, 30],
    [86_400, 60],
  ])('is followed by a job after the push service’s requested delay of %s s: %i', async (retryAfterSeconds, seconds) => {
    results = [{ kind: 'unavailable', retryAfterSeconds }];
    expect(await pushesTo().push(OWNER, REQUEST)).toMatchObject({ status: 'queued' });
    expect(enqueued).toEqual([{ queue: 'push', data: JOB, startAfterSeconds: seconds }]);
  });
});

test('a permanent failure is reported, too', async () => {
  results = [{ kind: 'failed', reason: 'NOT_CONFIGURED' }];
  const response = await pushesTo().push(OWNER, REQUEST);
  expect(response).toMatchObject({
    status: 'failed',
    failureReason: 'NOT_CONFIGURED',
    url: expect.stringContaining('/pay/'),
  });
  expect(failed).toEqual([{ acquirerId: 1, reference: LINK_ID, reason: 'NOT_CONFIGURED' }]);
  expect(enqueued).toEqual([]);
  expect(recorded).toMatchObject([{ outcome: 'NOT_CONFIGURED' }]);
});

describe('further attempts', () => {
  test('follow at increasing intervals, and end before the message would', async () => {
    results = Array(20).fill(UNAVAILABLE);
    const pushes = pushesTo();
    const waits: number[] = [];
    let job = JOB;
    for (;;) {
      const next = await pushes.retry(job);
      if (next === 'done') break;
      waits.push(next.againAfterSeconds);
      job = next.payload;
    }
    expect(waits).toEqual([10, 20, 40, 60, 60, 60]);
    expect(waits.reduce((sum, wait) => sum + wait, 5)).toBeLessThan(300);
    expect(failed).toEqual([{ acquirerId: 1, reference: LINK_ID, reason: 'UNAVAILABLE' }]);
    const { deviceId } = JOB;
    const record = { acquirerId: 1, reference: LINK_ID, deviceId };
    expect(recorded.map(({ outcome }) => outcome)).toEqual([...Array(6).fill('queued'), 'UNAVAILABLE']);
    expect(recorded.at(-1)).toEqual({ ...record, outcome: 'UNAVAILABLE' });
  });

  test('end with a permanent failure, which is reported', async () => {
    results = [{ kind: 'failed', reason: 'REFUSED' }];
    expect(await pushesTo().retry(JOB)).toBe('done');
    expect(failed).toEqual([{ acquirerId: 1, reference: LINK_ID, reason: 'REFUSED' }]);
  });

  test.each([
    ['was paid, or is being paid', () => ({ ...link!, isHeld: true })],
    ['has run out', () => ({ ...link!, isPast: true })],
    ['was removed', () => undefined],
  ])('are not made if the link %s', async (_what, then) => {
    link = then();
    expect(await pushesTo().retry(JOB)).toBe('done');
    expect(sent).toEqual([]);
  });

  test('are not made if the device is blocked, or another one', async () => {
    isBlocked = true;
    expect(await pushesTo().retry(JOB)).toBe('done');
    isBlocked = false;
    expect(await pushesTo({ ...DEVICE, id: LINK_ID }).retry(JOB)).toBe('done');
    expect(sent).toEqual([]);
  });
});

const MESSAGE: PushMessage = {
  reference: LINK_ID,
  pushToken: new Secret('push-token'),
  data: { link: 'https://pay.example/pay/x#token' },
  ttlSeconds: 300,
};

test('the sender for development logs the link’s reference and nothing else', async () => {
  const reported: object[] = [];
  const sender = createLogSender((message) => reported.push(message));
  expect(await sender.send(MESSAGE, 1_000)).toEqual({ kind: 'sent' });
  expect(reported).toEqual([{ reference: LINK_ID }]);
});

test('every push reports that there is no push service', async () => {
  expect(await NO_PUSH_SENDER.send(MESSAGE, 1_000)).toEqual({ kind: 'failed', reason: 'NOT_CONFIGURED' });
});
