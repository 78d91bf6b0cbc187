import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { saveRoute } from '../../src/store/settings/tenants.ts';
import { startBehindRelay } from '../support/behind-relay.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD_SECONDS, type Installation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, tapForPin } from '../support/pins.ts';
import type { Relay } from '../support/relay.ts';
import { postTap } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { ROUTE_ID } from '../support/tenants.ts';
import {
  jobsOf,
  letDoubtPass,
  letTimePass,
  storedTransaction,
  trailOf,
  untilResponded,
  untilStatus,
} from '../support/transactions.ts';

let installation: Installation;
let relay: Relay;
beforeAll(async () => {
  ({ installation, relay } = await startBehindRelay({ profile: { deadlineMs: 5_000 } }));
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  await relay.close();
});

/** The two requests of one tap and its PIN. */
async function requestsDuring(work: () => Promise<unknown>): Promise<IsoMessage[]> {
  const before = relay.requests.length;
  await work();
  return relay.requests.slice(before);
}

test('the PIN is sent in a new message of the same tap: another STAN, the same card, amount and cryptogram, and also DE26 and DE52', async () => {
  const phone = installation.phone();
  const [first, second, ...others] = await requestsDuring(async () => {
    expect(outcomeOf(await enterPin(phone, await tapForPin(phone))).type).toBe('Approved');
  });
  expect(others).toEqual([]);
  expect(first).not.toHaveProperty('pinBlock');
  expect(first).not.toHaveProperty('pinCaptureCode');
  expect(second).toMatchObject({ mti: '0200', pinCaptureCode: '12', posEntryMode: '071' });
  expect(second!.pinBlock).toHaveLength(8);
  expect(second!.stan).not.toBe(first!.stan);
  expect(second!.rrn).not.toBe(first!.rrn);
  const same = ({ pan, track2, amount, currency, tid, mid }: IsoMessage) => ({
    pan,
    track2,
    amount,
    currency,
    tid,
    mid,
  });
  expect(same(second!)).toEqual(same(first!));
  const [tapped, entered] = [first!, second!].map(({ switchData }) => (switchData as { icc: object }).icc);
  // The difference is what the reader reports of the PIN (9F34).
  expect({ ...entered, cvmResults: '' }).toEqual({ ...tapped, cvmResults: '' });
  expect(entered).toMatchObject({ cvmResults: '420300' });
});

test('the PIN uses the route of its tap, even if another has a better priority meanwhile', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  await saveRoute(database, { acquirerId: 1, id: ROUTE_ID - 1, processorId: 1, priority: 0 });
  const routeOf = async (id: string) =>
    (await database.query('select route_id from transactions where id = $1', [id])).rows[0].route_id;
  const untilTapsGo = (route: number) =>
    eventually(async () => {
      const { serviceReference } = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' }));
      expect(await routeOf(serviceReference)).toBe(route);
    });
  try {
    await untilTapsGo(ROUTE_ID - 1);
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
    expect(await routeOf(asked.id)).toBe(ROUTE_ID);
  } finally {
    await database.query('delete from routes where id = $1', [ROUTE_ID - 1]);
    await untilTapsGo(ROUTE_ID); // gateways poll every two seconds: the next test's tap must not use the removed route
  }
});

test('a connection lost during the PIN leaves the outcome open: Indeterminate, reversed and Voided, and no PIN is awaited', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  let isCut = false;
  relay.onRequest = ({ mti }) => {
    if (mti !== '0200' || isCut) return;
    isCut = true;
    // The switch gets the request, and its approval reaches no connection.
    setImmediate(() => relay.cut());
  };
  const response = outcomeOf(await enterPin(phone, asked));
  relay.onRequest = () => {};
  expect(response).toMatchObject({ type: 'Indeterminate', errorCode: 203, isSingleTapAndPin: false });
  // On another connection the reversal waits until nothing of the PIN's message can be in transit, and is confirmed.
  await untilResponded(database, asked.id);
  await eventually(async () => {
    const jobs = await jobsOf(database, asked.id);
    expect(jobs.map(({ queue, startsAtMs }) => [queue, startsAtMs > Date.now() + 30_000])).toEqual([['reverse', true]]);
  });
  await letTimePass(database, asked.id, GUARD_SECONDS + 10);
  await letDoubtPass(database, asked.id);
  await eventually(async () => {
    const stored = await storedTransaction(database, asked.id);
    expect(stored).toMatchObject({ disposition: Disposition.Voided, attempt: 2 });
  });
});

test('a phone that hung up before the PIN was required may repeat its request, or enter the PIN if it knows', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const reading = phone.read({ amount: '50.05', currency: 'ZAR' });
  const request = await phone.sealReading(reading);
  const hangUp = new AbortController();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  relay.onRequest = () => held;
  const before = relay.requests.length;
  const gone = postTap(installation.url, phone, request, { signal: hangUp.signal }).catch((error: Error) => error.name);
  await eventually(() => expect(relay.requests.length).toBe(before + 1));
  hangUp.abort();
  expect(await gone).toBe('AbortError');
  relay.onRequest = () => {};
  release();
  const { rows } = await database.query('select id from transactions where merchant_reference = $1', [
    reading.merchantReference,
  ]);
  const id: string = rows[0].id;
  await untilStatus(database, id, 'FailedToRespondToPhone');

  const asked = askedFor(reading, await phone.submit(request));
  await untilResponded(database, id);
  expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
  await untilResponded(database, id);
  expect((await trailOf(database, id)).slice(3, 8)).toEqual([
    'ResponseReceivedFromPaymentProcessor',
    'PIN awaiting',
    'FailedToRespondToPhone',
    'RespondedToPhone',
    'RequestReceived',
  ]);
});
