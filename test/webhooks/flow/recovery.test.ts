import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { ManyDeliveries } from '../many-deliveries.ts';
import { ok, type Receiver, startReceiver, status } from '../receiver.ts';

const EVENTS = 3_000;

let installation: Installation;
let many: ManyDeliveries;
let receiver: Receiver;
beforeAll(async () => {
  installation = await startInstallation();
  many = new ManyDeliveries(installation);
  receiver = await startReceiver(status(503));
});
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

describe('a receiver that was down', () => {
  test('gets three thousand events soon after it accepts one again, each once, with every attempt recorded', async () => {
    const endpoints = await many.saveEndpoints([receiver.url]);
    await many.addEvents(endpoints, EVENTS);
    await eventually(() => expect(receiver.received.length).toBeGreaterThan(EVENTS / 10));
    await many.waitLonger(endpoints);
    receiver.respond = ok;
    await many.addEvents(endpoints, 1);
    await many.until(endpoints, { delivered: EVENTS + 1, pending: 0 });
    const { rows } = await installation.database.query(
      `select a.status, count(*)::int from webhook_attempts a join webhook_events e on e.id = a.event_id
       where e.endpoint_id = any($1) group by 1 order by 1`,
      [endpoints],
    );
    expect(rows).toEqual([
      { status: 204, count: EVENTS + 1 },
      { status: 503, count: receiver.received.length - EVENTS - 1 },
    ]);
  });

  test('keeps the schedule of an event that it always refuses, however often that is brought forward', async () => {
    const endpoints = await many.saveEndpoints([receiver.url]);
    receiver.respond = status(503);
    await many.addEvents(endpoints, 5);
    await many.until(endpoints, { leastAttempts: 2, mostAttempts: 2 });
    receiver.respond = (response, received) =>
      (received.body.includes('"number" : 1}') ? status(400) : ok)(response, received);
    await many.addEvents(endpoints, 2);
    await many.until(endpoints, { delivered: 5, pending: 2 });
    // The attempt that is brought forward may follow the deliveries of the others.
    await eventually(async () => {
      const { rows } = await installation.database.query(
        `select delivery::int, attempts::int, early_attempts::int as early, not_early_before > now() as "mustWait",
         next_at > now() + interval '1 minute' as "isForLater"
       from webhook_events where endpoint_id = any($1) and state = 'pending' order by attempts desc limit 1`,
        [endpoints],
      );
      expect(rows).toEqual([{ delivery: 3, attempts: 3, early: 1, mustWait: true, isForLater: true }]);
    });
  });
});
