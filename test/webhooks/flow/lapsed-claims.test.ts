import { afterAll, beforeAll, expect, test } from 'vitest';
import { listDeadLetters } from '../../../src/jobs/queues.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../../support/installation.ts';
import { outcomeOf } from '../../support/responses.ts';
import { Backend, genuine } from '../backend.ts';
import { hang, ok, type Receiver, type Respond, startReceiver } from '../receiver.ts';

let installation: Installation;
let gateway: StartedGateway;
let backend: Backend;
let receiver: Receiver;
let secret: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', settings: { JOB_MONITOR_SECONDS: '1' } });
  gateway = await installation.startGateway();
  receiver = await startReceiver();
  backend = await Backend.open(installation);
  secret = await backend.listenAt(receiver.url);
});
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

const tap = async () =>
  outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;

const untilReceived = (id: string, count: number) =>
  eventually(() => expect(receiver.received.filter(({ body }) => body.includes(id))).toHaveLength(count));

const untilState = (id: string, state: string) =>
  eventually(async () => expect(await backend.eventsOf(id)).toMatchObject([{ state }]));

test('a delivery whose process was frozen is made by another, and only one of the two decides', async () => {
  const held: Parameters<Respond>[0][] = [];
  receiver.respond = (response) => void held.push(response);
  const id = await tap();
  await untilReceived(id, 1);
  // Simulates that the claim is a minute old: pg-boss considers the job orphaned and returns it again.
  await eventually(async () => {
    const { rowCount } = await installation.database.query(
      "update pgboss.job set started_on = started_on - interval '61 s' where name = 'webhook' and state = 'active'",
    );
    expect(rowCount).toBe(1);
  });
  await untilReceived(id, 2);
  expect(genuine(receiver, secret, id).map(({ sequence }) => sequence)).toEqual([1, 1]);

  held[1]!.writeHead(204).end();
  await untilState(id, 'delivered');
  held[0]!.writeHead(500).end();
  await eventually(async () => {
    const [event] = await backend.eventsOf(id);
    expect(event).toMatchObject({ state: 'delivered', attempts: 2, nextAttemptAt: null });
    expect((await backend.attempts(event!.id)).map(({ status }) => status)).toEqual([204, 500]);
  });
  const { rows } = await installation.database.query("select state from pgboss.job where name = 'webhook'");
  expect(rows).toEqual([]);
});

test('a stop during a delivery does not wait for it, and the next process makes it', async () => {
  receiver.respond = hang;
  const id = await tap();
  await untilReceived(id, 1);
  await gateway.stop();
  receiver.respond = ok;
  gateway = await installation.startGateway();
  backend = await Backend.open(installation);
  await untilState(id, 'delivered');
  await untilReceived(id, 2);
  const [event] = await backend.eventsOf(id);
  // The hanging delivery was not waited for: otherwise its time-out would be recorded as an attempt.
  expect(await backend.attempts(event!.id)).toMatchObject([{ number: 1, status: 204 }]);
});

test('a job with an invalid payload becomes a dead letter with its reason', async () => {
  await installation.database.query(
    `insert into pgboss.job (name, data, retry_limit, expire_seconds, deletion_seconds, keep_until)
     values ('webhook', '{"eventId":"x"}', 2, 60, 60, now() + interval '1 h')`,
  );
  await eventually(async () => {
    const letters = await listDeadLetters(installation.database);
    expect(letters).toMatchObject([{ queue: 'webhook', reason: expect.stringContaining('eventId') }]);
  });
});
