import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { WebhookEventView } from '../../../schemas/webhook.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';
import { Backend, genuine, untilReported, verifiedEvent } from '../backend.ts';
import { hang, ok, type Receiver, startReceiver, status } from '../receiver.ts';

let installation: Installation;
let backend: Backend;
let receiver: Receiver;
let secret: string;
beforeAll(async () => {
  installation = await startInstallation();
  backend = await Backend.open(installation);
  receiver = await startReceiver();
  secret = await backend.listenAt(receiver.url);
});
afterEach(async () => {
  receiver.respond = ok;
  await backend.register(receiver.url);
  await expectInvariants(installation);
});
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

const DAY_SECONDS = 86_400;

/** An approved tap of the merchant; its transaction's id. */
async function tap(): Promise<string> {
  return outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;
}

/** Waits until the one event of a transaction matches. */
function untilEvent(id: string, wanted: Partial<WebhookEventView>, whose = backend): Promise<WebhookEventView> {
  return eventually(async () => {
    const [event] = await whose.eventsOf(id);
    expect(event).toMatchObject(wanted);
    return event!;
  });
}

/** Lets time pass for deliveries: moves their due times back. */
async function letTimePass(seconds: number): Promise<void> {
  const { database } = installation;
  await database.query(`update webhook_events set next_at = next_at - $1 * interval '1 s'`, [seconds]);
  await database.query(
    "update pgboss.job set start_after = start_after - $1 * interval '1 s' where name = 'webhook' and state < 'active'",
    [seconds],
  );
}

describe('a receiver that fails', () => {
  test('a receiver that fails for a day gets the event when it is back, with the same id, a fresh timestamp and a record of each attempt', async () => {
    receiver.respond = status(500, {}, 'out of order');
    const id = await tap();
    let event = await untilEvent(id, { attempts: 1, state: 'pending' });
    // Each delay of the schedule, up to the attempt at which more than a day has passed: 5 s, 5 m, 30 m, 2 h, 5 h, 10
    // h.
    for (const attempts of [2, 3, 4, 5, 6, 7]) {
      const waitMs = Date.parse(event.nextAttemptAt!) - Date.now();
      await letTimePass(Math.ceil(waitMs / 1_000));
      event = await untilEvent(id, { attempts, state: 'pending' });
    }
    receiver.respond = ok;
    await letTimePass(DAY_SECONDS);
    await untilEvent(id, { attempts: 8, state: 'delivered', nextAttemptAt: null });

    const webhooks = receiver.received.filter(({ body }) => body.includes(id));
    expect(webhooks).toHaveLength(8);
    expect(new Set(webhooks.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([event.id]));
    expect(new Set(webhooks.map(({ body }) => body.toString())).size).toBe(1);
    expect(webhooks.map((webhook) => verifiedEvent(webhook, secret).serviceReference)).toEqual(webhooks.map(() => id));
    const attempts = await backend.attempts(event.id);
    expect(attempts.map(({ number, status }) => [number, status])).toEqual([
      ...[1, 2, 3, 4, 5, 6, 7].map((number) => [number, 500]),
      [8, 204],
    ]);
    expect(attempts[0]).toMatchObject({ url: receiver.url, error: null, response: 'out of order' });
  });

  test('a receiver that fails until the end of the schedule gets no eleventh attempt', async () => {
    receiver.respond = status(503);
    const id = await tap();
    for (let attempts = 1; attempts < 10; attempts++) {
      await untilEvent(id, { attempts, state: 'pending' });
      await letTimePass(2 * DAY_SECONDS);
    }
    const { id: eventId } = await untilEvent(id, { attempts: 10, state: 'failed', nextAttemptAt: null });
    const { rows } = await installation.database.query(
      "select from pgboss.job where name = 'webhook' and data ->> 'eventId' = $1",
      [eventId],
    );
    expect(rows).toEqual([]);
  });

  test('a receiver that fails with a redirect is not followed', async () => {
    const elsewhere = await startReceiver();
    receiver.respond = status(302, { location: elsewhere.url });
    const id = await tap();
    const { id: eventId } = await untilEvent(id, { attempts: 1, state: 'pending' });
    expect(await backend.attempts(eventId)).toMatchObject([{ status: 302 }]);
    expect(elsewhere.received).toEqual([]);
    await elsewhere.close();
  });

  test('a receiver that fails and requests a delay gets it, for all of its events', async () => {
    const tailor = await Backend.open(installation, 'tailor');
    const patient = await startReceiver(status(429, { 'retry-after': '120' }));
    await tailor.listenAt(patient.url);
    const phone = installation.phone('tailor');
    const tapThere = async () => outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;
    const { nextAttemptAt } = await untilEvent(await tapThere(), { attempts: 1, state: 'pending' }, tailor);
    const waitSeconds = (Date.parse(nextAttemptAt!) - Date.now()) / 1_000;
    expect(waitSeconds).toBeGreaterThan(100);
    expect(waitSeconds).toBeLessThan(150);
    const second = await tapThere();
    await eventually(async () => {
      const { rows } = await installation.database.query(
        "select from pgboss.job where name = 'webhook' and start_after > now() + interval '100 s'",
      );
      expect(rows).toHaveLength(2);
    });
    expect(await tailor.eventsOf(second)).toMatchObject([{ attempts: 0, state: 'pending' }]);
    await patient.close();
  });

  test('a receiver that fails because it does not exist has the reason recorded', async () => {
    const gone = await startReceiver();
    await gone.close();
    await backend.register(gone.url);
    const { id } = await untilEvent(await tap(), { attempts: 1, state: 'pending' });
    expect(await backend.attempts(id)).toMatchObject([
      { url: gone.url, status: null, error: 'CONNECTION_REFUSED', response: null },
    ]);
  });

  test('a receiver that fails with a huge response has its first kilobyte recorded', async () => {
    receiver.respond = status(400, {}, 'no\0'.repeat(1_000_000));
    const { id } = await untilEvent(await tap(), { attempts: 1, state: 'pending' });
    const [attempt] = await backend.attempts(id);
    expect(attempt!.response).toBe('no\ufffd'.repeat(342).slice(0, 1_024));
  });
});

describe('a receiver that was removed', () => {
  test('is sent nothing further, and gets what it missed if it registers again and requests it', async () => {
    receiver.respond = status(410);
    const first = await tap();
    await untilEvent(first, { attempts: 1, state: 'stopped', nextAttemptAt: null });
    const { body } = await backend.ask('GET', '/integrator/callbackUrl');
    expect(body).toEqual({ callbackUrl: receiver.url, disabledAt: expect.any(String) });

    const count = receiver.received.length;
    const second = await tap();
    await untilEvent(second, { attempts: 0, state: 'stopped' });
    expect(receiver.received).toHaveLength(count);

    receiver.respond = ok;
    await backend.register(receiver.url);
    expect((await backend.ask('GET', '/integrator/callbackUrl')).body).toEqual({ callbackUrl: receiver.url });
    const range = { from: new Date(Date.now() - 60_000).toISOString(), to: new Date(Date.now() + 1_000).toISOString() };
    const replayed = await backend.ask('POST', '/integrator/events/replay', range);
    expect(replayed.status).toBe(202);
    for (const id of [first, second]) await untilEvent(id, { state: 'delivered' });
  });
});

describe('a replay', () => {
  test('a replay of one event sends it again with its id, and continues the count of attempts', async () => {
    const id = await tap();
    const event = await untilEvent(id, { attempts: 1, state: 'delivered' });
    const response = await backend.ask('POST', `/integrator/events/${event.id}/replay`);
    expect(response).toMatchObject({ status: 202, body: { replayed: 1 } });
    await untilEvent(id, { attempts: 2, state: 'delivered' });
    const webhooks = receiver.received.filter(({ body }) => body.includes(id));
    expect(webhooks.map(({ headers }) => headers['webhook-id'])).toEqual([event.id, event.id]);
    expect((await backend.attempts(event.id)).map(({ number }) => number)).toEqual([1, 2]);
  });

  test('restarts the schedule and replaces the remaining attempts', async () => {
    receiver.respond = status(500);
    const id = await tap();
    const { id: eventId } = await untilEvent(id, { attempts: 1, state: 'pending' });
    await backend.ask('POST', `/integrator/events/${eventId}/replay`);
    await untilEvent(id, { attempts: 2, state: 'pending' });
    receiver.respond = ok;
    await letTimePass(DAY_SECONDS);
    await untilEvent(id, { attempts: 3, state: 'delivered' });
    await eventually(async () => {
      const { rows } = await installation.database.query(
        "select from pgboss.job where name = 'webhook' and data ->> 'eventId' = $1",
        [eventId],
      );
      expect(rows).toEqual([]);
    });
    expect(genuine(receiver, secret, id)).toHaveLength(3);
  });

  test('a replay of a time range includes undelivered events, or all', async () => {
    const from = new Date().toISOString();
    const arrived = await tap();
    await untilEvent(arrived, { state: 'delivered' });
    receiver.respond = status(410);
    const missed = await tap();
    await untilEvent(missed, { state: 'stopped' });
    const to = new Date().toISOString();
    receiver.respond = ok;
    await backend.register(receiver.url);

    const replay = (body: object) => backend.ask('POST', '/integrator/events/replay', { from, to, ...body });
    expect(await replay({})).toMatchObject({ status: 202, body: { replayed: 1 } });
    await untilEvent(missed, { attempts: 2, state: 'delivered' });
    expect(await replay({ includeDelivered: true })).toMatchObject({ status: 202, body: { replayed: 2 } });
    await untilEvent(missed, { attempts: 3, state: 'delivered' });
    await untilEvent(arrived, { attempts: 2, state: 'delivered' });
    expect(await replay({ to: from, from: '2020-01-01T00:00:00Z' })).toMatchObject({ body: { replayed: 0 } });
  });
});

describe('a secret', () => {
  test('is replaced by another while both sign, and ends immediately if it is compromised', async () => {
    const next = await backend.issueSecret();
    const during = await tap();
    await untilReported(receiver, next, during);
    expect(genuine(receiver, secret, during)).toHaveLength(1);
    const webhookDuring = receiver.received.find(({ body }) => body.includes(during))!;
    expect(webhookDuring.headers).toMatchObject({ 'webhook-signature': expect.stringMatching(/^v1,\S+ v1,\S+$/) });

    const last = await backend.issueSecret({ overlapHours: 0, isCompromised: true });
    const after = await tap();
    await eventually(() => expect(receiver.received.some(({ body }) => body.includes(after))).toBe(true));
    const webhook = receiver.received.find(({ body }) => body.includes(after))!;
    expect(() => verifiedEvent(webhook, next)).toThrow(/no signature matches/);
    expect(verifiedEvent(webhook, last)).toMatchObject({ serviceReference: after });
    secret = last;
  });
});

test('a URL that became private after its registration is refused when it is called', async () => {
  await installation.database.query("update webhook_endpoints set url = 'https://10.0.0.1/hook'");
  const { id } = await untilEvent(await tap(), { attempts: 1, state: 'pending' });
  expect(await backend.attempts(id)).toMatchObject([{ status: null, error: 'URL_REFUSED' }]);
});

describe('a receiver that hangs', () => {
  test('delays no others, and its events wait visibly', async () => {
    const neighbour = await Backend.open(installation, 'flowers');
    const prompt = await startReceiver();
    const promptSecret = await neighbour.listenAt(prompt.url);
    receiver.respond = hang;
    const hanging = await Promise.all(Array.from({ length: 30 }, tap));
    const received = () => hanging.filter((id) => receiver.received.some(({ body }) => body.includes(id)));
    await eventually(() => expect(received().length).toBeGreaterThan(0));

    const phone = installation.phone('flowers');
    const reported = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;
    await untilReported(prompt, promptSecret, reported);
    // None of the hanging deliveries has timed out by then.
    for (const id of hanging) await untilEvent(id, { state: 'pending', attempts: 0 });

    receiver.respond = ok;
    receiver.drop();
    await eventually(async () => {
      await letTimePass(60);
      const states = await Promise.all(hanging.map(async (id) => (await backend.eventsOf(id))[0]!.state));
      expect(states).toEqual(hanging.map(() => 'delivered'));
    });
    await prompt.close();
  });
});
