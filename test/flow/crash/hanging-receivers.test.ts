import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { ManyDeliveries } from '../../webhooks/many-deliveries.ts';
import { ok, type Receiver, type Respond, startReceiver } from '../../webhooks/receiver.ts';

/** As many as a busy machine can deliver to in seconds; `RECEIVERS=10000` tests more. */
const EACH = Number(process.env.RECEIVERS ?? 2_000) / 2;
/** To an endpoint that has accepted nothing yet. */
const MAX_AT_ONCE = 2;

let installation: Installation;
let receiver: Receiver;
/** Currently hanging requests, by path, and their highest number. */
const hanging = new Map<string, number>();
let mostAtOnce = 0;

const hang: Respond = (response, { path }) => {
  const count = (hanging.get(path) ?? 0) + 1;
  hanging.set(path, count);
  mostAtOnce = Math.max(mostAtOnce, count);
  response.on('close', () => hanging.set(path, hanging.get(path)! - 1));
};

beforeAll(async () => {
  installation = await startInstallation();
  receiver = await startReceiver((response, received) =>
    (received.path.startsWith('/hanging/') ? hang : ok)(response, received),
  );
});
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

test('receivers that hang, one for each that responds, do not delay the events of the others', async () => {
  const many = new ManyDeliveries(installation);
  const urlsOf = (kind: string) => Array.from({ length: EACH }, (_, n) => new URL(`/${kind}/${n}`, receiver.url).href);
  const taking = await many.saveEndpoints(urlsOf('taking'));
  const stuck = await many.saveEndpoints(urlsOf('hanging'));
  await many.addEvents(
    taking.flatMap((id, n) => [stuck[n]!, id]),
    2,
  );
  await many.until(taking, { delivered: 2 * EACH });
  expect(mostAtOnce).toBeLessThanOrEqual(MAX_AT_ONCE);
  expect(await many.figures(stuck)).toMatchObject({ delivered: 0, pending: 2 * EACH });
});
