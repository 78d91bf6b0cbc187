import { randomUUID } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { ProblemError } from '../../schemas/client.ts';
import type { Problem } from '../../schemas/problem.ts';
import type { WebhookEventView } from '../../schemas/webhook.ts';
import { EventFeed } from '../../src/cli/webhooks.ts';

afterEach(() => vi.unstubAllGlobals());

/** A feed whose gateway refuses each request. */
function refusedWith(status: number): EventFeed {
  const problem: Problem = {
    type: '/docs/errors#101',
    title: 'Refused',
    status,
    detail: 'Not now.',
    instance: '/integrator/events',
    errorCode: 101,
    message: 'E101',
    httpStatusCode: status,
    requestId: '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11',
  };
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(problem), { status }));
  return new EventFeed('https://tap.example', 'tw_test_key');
}

test.each([401, 403])('a permanent refusal %i ends following, with its reason', async (status) => {
  await expect(refusedWith(status).look()).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    reason: `https://tap.example responds with ${status}: Not now.`,
  });
});

test.each([429, 503])('a temporary refusal %i is retried', async (status) => {
  await expect(refusedWith(status).look()).rejects.toBeInstanceOf(ProblemError);
});

test('events that were created together are reported in the order of their statuses', async () => {
  const serviceReference = randomUUID();
  const event = (sequence: number, timestamp: string): WebhookEventView => ({
    id: randomUUID(),
    type: 'transaction.completed',
    serviceReference,
    state: 'pending',
    createdAt: '2026-03-02T10:00:01.000Z',
    attempts: 0,
    nextAttemptAt: null,
    payload: {
      type: 'transaction.completed',
      timestamp,
      sequence,
      id: serviceReference,
      merchantId: '1001',
      merchantReference: 'order',
      disposition: 'Approved',
      authorisationCode: '',
      amount: 10,
      amountMinor: 1_000,
      currency: 'ZAR',
      serviceReference,
      deviceInstallationId: 'till',
    },
  });
  const listed = [
    event(1, '2026-03-02T10:00:00.100Z'),
    event(3, '2026-03-02T10:00:00.200Z'),
    event(2, '2026-03-02T10:00:00.200Z'),
  ];
  vi.stubGlobal('fetch', async () => Response.json(listed));
  const changes = await new EventFeed('https://tap.example', 'tw_test_key').look();
  expect(changes.map(({ event: { payload } }) => payload.sequence)).toEqual([1, 2, 3]);
});
