import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';
import { Backend, untilReported } from '../backend.ts';
import { ok, type Receiver, type Respond, startReceiver, status } from '../receiver.ts';

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
  await expectInvariants(installation);
});
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

const tap = async () =>
  outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;

const requestsFor = (id: string) => receiver.received.filter(({ body }) => body.includes(id)).length;

async function jobsFor(id: string): Promise<{ state: string; isLater: boolean }[]> {
  const { rows } = await installation.database.query(
    `select state, start_after > now() as "isLater" from pgboss.job
     where name = 'webhook' and data -> 'outcome' ->> 'transactionId' = $1`,
    [id],
  );
  return rows;
}

test('an event is delivered while its job waits, and the record of the delivery removes the job', async () => {
  const held: Parameters<Respond>[0][] = [];
  receiver.respond = (response) => void held.push(response);
  const id = await tap();
  await eventually(() => expect(requestsFor(id)).toBe(1));
  expect(await jobsFor(id)).toHaveLength(1);
  held[0]!.writeHead(204).end();
  await eventually(async () => {
    expect(await backend.eventsOf(id)).toMatchObject([{ state: 'delivered', attempts: 1, nextAttemptAt: null }]);
    expect(await jobsFor(id)).toEqual([]);
  });
  await untilReported(receiver, secret, id);
  expect(requestsFor(id)).toBe(1);
});

test('an event whose receiver is slow is visible meanwhile, with a claimed job, and is sent once', async () => {
  const held: Parameters<Respond>[0][] = [];
  receiver.respond = (response) => void held.push(response);
  const id = await tap();
  await eventually(async () => {
    expect(await backend.eventsOf(id)).toMatchObject([{ state: 'pending', attempts: 0 }]);
    expect(await jobsFor(id)).toMatchObject([{ state: 'active' }]);
  });
  held[0]!.writeHead(200).end('late');
  const [event] = await eventually(async () => {
    const events = await backend.eventsOf(id);
    expect(events).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    return events;
  });
  expect(await backend.attempts(event!.id)).toMatchObject([{ number: 1, status: 200, response: 'late' }]);
  expect([requestsFor(id), await jobsFor(id)]).toEqual([1, []]);
});

test('a connection that is closed instead of a response is an attempt, and the event is sent again', async () => {
  receiver.respond = (response) => void response.destroy();
  const id = await tap();
  await eventually(async () => expect(await backend.eventsOf(id)).toMatchObject([{ state: 'pending', attempts: 1 }]));
  receiver.respond = ok;
  const [event] = await eventually(async () => {
    const events = await backend.eventsOf(id);
    expect(events).toMatchObject([{ state: 'delivered', attempts: 2 }]);
    return events;
  });
  expect(await backend.attempts(event!.id)).toMatchObject([{ error: 'CONNECTION_LOST' }, { status: 204 }]);
});

test('what a receiver refuses does not delay what another one takes', async () => {
  const neighbour = await Backend.open(installation, 'flowers');
  const prompt = await startReceiver();
  const promptSecret = await neighbour.listenAt(prompt.url);
  receiver.respond = status(500);
  const refused = await Promise.all(Array.from({ length: 10 }, tap));
  const phone = installation.phone('flowers');
  const taken = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;
  await untilReported(prompt, promptSecret, taken);
  for (const id of refused) {
    await eventually(async () => expect(await backend.eventsOf(id)).toMatchObject([{ state: 'pending' }]));
  }
  await prompt.close();
});
