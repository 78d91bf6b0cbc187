import { describe, expect, test } from 'vitest';
import { jobPayloads } from '../../../schemas/jobs.ts';
import { decideOutcome } from '../../../src/payments/decisions/decide-outcome.ts';
import { webhookJobs, withLease, withWebhook } from '../../../src/payments/decisions/webhook-job.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Directory } from '../../../src/payments/ports/directory-ports.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const NOW_MS = SENT_AT_MS + 1_234;
const TAPS = '11111111-1111-4111-8111-111111111111';
const LINKS = '22222222-2222-4222-8222-222222222222';
const EVENT = '33333333-3333-4333-8333-333333333333';
const CONSUMER = '44444444-4444-4444-8444-444444444444';

/** Dependencies in which integrator 10 of acquirer 1 has these endpoints. */
function worldWith(endpoints: { taps?: string; links?: string }) {
  const webhookEndpoint: Directory['webhookEndpoint'] = (acquirerId, integratorId, serves) =>
    acquirerId === 1 && integratorId === 10 ? endpoints[serves] : undefined;
  return { directory: { webhookEndpoint } as Directory, newId: () => EVENT };
}

const both = worldWith({ taps: TAPS, links: LINKS });
const jobOf = (changes: Partial<Transaction>, disposition: Transaction['disposition'], deps = both) =>
  webhookJobs(deps, sampleTransaction(changes), { disposition, approvedMinor: null }, NOW_MS);

test('an outcome has one job, which its queue accepts', () => {
  const jobs = jobOf({ attempt: 1 }, Disposition.Approved);
  expect(jobs).toEqual([
    {
      queue: 'webhook',
      data: {
        acquirerId: 1,
        eventId: EVENT,
        endpointId: TAPS,
        round: 1,
        delivery: 1,
        outcome: {
          transactionId: sampleTransaction().id,
          type: 'transaction.completed',
          disposition: 'Approved',
          sequence: 1,
          at: new Date(NOW_MS).toISOString(),
          amountMinor: 1_000,
          currency: 'ZAR',
        },
      },
    },
  ]);
  expect(jobPayloads.webhook.parse(jobs[0]!.data)).toEqual(jobs[0]!.data);
});

test('a partial approval is reported with the approved part', () => {
  const approved = { disposition: Disposition.Approved, approvedMinor: 400 };
  const [job] = webhookJobs(both, sampleTransaction(), approved, NOW_MS);
  expect(job!.data).toMatchObject({ outcome: { amountMinor: 400 } });
});

describe('destination', () => {
  test.each([
    ['a tap of the SDK', null, { taps: TAPS, links: LINKS }, TAPS],
    ['a tap by link or intent', CONSUMER, { taps: TAPS, links: LINKS }, LINKS],
  ] as const)('%s', (_what, consumerId, endpoints, endpointId) => {
    const jobs = jobOf({ consumerId }, Disposition.Declined, worldWith(endpoints));
    expect(jobs.map(({ data }) => (data as { endpointId: string }).endpointId)).toEqual([endpointId]);
  });

  test.each([
    ['a tap of the SDK, if only links have an endpoint', { consumerId: null }, 'taps', { links: LINKS }],
    ['a tap of a link or intent, if only taps have one', { consumerId: CONSUMER }, 'links', { taps: TAPS }],
    ['anything, without an endpoint', {}, 'taps', {}],
    ['another integrator', { integratorId: 11 }, 'taps', { taps: TAPS, links: LINKS }],
    ['another acquirer', { acquirerId: 2 }, 'taps', { taps: TAPS, links: LINKS }],
  ] as const)('left to the commit: %s', (_what, changes, serves, endpoints) => {
    const [job, ...more] = jobOf(changes, Disposition.Declined, worldWith(endpoints));
    const { integratorId } = sampleTransaction(changes);
    expect(job).toMatchObject({ queue: 'webhook', endpointOf: { integratorId, serves }, data: { eventId: EVENT } });
    expect(job!.data).not.toHaveProperty('endpointId');
    expect(more).toEqual([]);
  });
});

describe('type of event', () => {
  test.each([
    ['Tap', Disposition.Approved, 'transaction.completed'],
    ['Tap', Disposition.Declined, 'transaction.completed'],
    ['Tap', Disposition.DeclinedOffline, 'transaction.completed'],
    ['Tap', Disposition.UnableToGoOnline, 'transaction.completed'],
    ['Tap', Disposition.Indeterminate, 'transaction.completed'],
    ['Tap', Disposition.Voided, 'transaction.voided'],
    ['TT3', Disposition.Approved, 'transaction.completed'],
    ['Refund', Disposition.Approved, 'refund.completed'],
    ['Refund', Disposition.Voided, 'refund.voided'],
  ] as const)('%s with disposition %s is %s', (type, disposition, reported) => {
    const [job] = jobOf({ type: TransactionType[type] }, disposition);
    expect(job!.data).toMatchObject({ outcome: { type: reported } });
  });

  test('none while the outcome is open: a PIN step holds it', () => {
    expect(jobOf({}, null)).toEqual([]);
  });

  test('none for the row of a void: its original becomes Voided', () => {
    expect(jobOf({ type: TransactionType.Void }, Disposition.Approved)).toEqual([]);
  });
});

test('the sequence increases with every outcome, over attempts and voids', () => {
  const sequence = (attempt: number, disposition: Transaction['disposition']) =>
    (jobOf({ attempt }, disposition)[0]!.data as { outcome: { sequence: number } }).outcome.sequence;
  expect([
    sequence(1, Disposition.UnableToGoOnline),
    sequence(2, Disposition.Indeterminate),
    sequence(2, Disposition.Voided),
  ]).toEqual([1, 3, 4]);
});

test('a decision keeps its other jobs', () => {
  const decision = decideOutcome(sampleTransaction(), { kind: 'noResponse' }, NOW_MS);
  const { enqueue } = withWebhook(both, sampleTransaction(), decision, NOW_MS);
  expect(enqueue.map(({ queue }) => queue)).toEqual(['reverse', 'webhook']);
});

describe('a process that delivers events itself', () => {
  const promptWebhooks = { leaseSeconds: 10, deliver: () => {} };
  const decided = (deps: Parameters<typeof withWebhook>[0]) => {
    const transaction = sampleTransaction();
    const decision = decideOutcome(transaction, { kind: 'noResponse' }, NOW_MS);
    return withWebhook(deps, transaction, decision, NOW_MS);
  };

  test('has their jobs start when its lease ends, and no other job', () => {
    const [reverse, webhook, ...more] = withLease({ ...both, promptWebhooks }, decided(both)).enqueue;
    expect(reverse).toEqual(decided(both).enqueue[0]);
    expect(webhook).toMatchObject({ queue: 'webhook', id: EVENT, startAfterSeconds: 10 });
    expect(more).toEqual([]);
  });

  test('leaves an event to its job if only the commit can find the endpoint', () => {
    const none = worldWith({});
    expect(withLease({ ...none, promptWebhooks }, decided(none))).toEqual(decided(none));
  });

  test('changes nothing in a process that runs no jobs', () => {
    expect(withLease(both, decided(both))).toEqual(decided(both));
  });
});
