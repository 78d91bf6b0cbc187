import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants, expectSoundStates } from '../support/invariants.ts';
import { askedFor, enterPin, sealPin, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { jobsOf, letTimePass, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';
import { Backend, verifiedEvent } from '../webhooks/backend.ts';
import { startReceiver } from '../webhooks/receiver.ts';

function untilDeclined(installation: Installation, id: string) {
  return eventually(async () => {
    const stored = await storedTransaction(installation.database, id);
    expect(stored.disposition).toBe(Disposition.Declined);
    return stored;
  });
}

describe('with a second to enter the PIN', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ settings: { PIN_SECONDS: '1' } });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  test('a PIN that never comes leaves the decline that required it, with its codes, and no job', async () => {
    const { database } = installation;
    const phone = installation.phone();
    const reading = phone.read({ amount: '50.05', currency: 'ZAR' });
    const request = await phone.sealReading(reading);
    const asked = askedFor(reading, await phone.submit(request));
    await untilResponded(database, asked.id);
    expect(await untilDeclined(installation, asked.id)).toMatchObject({ status: 'RespondedToPhone', attempt: 1 });
    expect((await trailOf(database, asked.id)).slice(-2)).toEqual(['RespondedToPhone', 'PIN expired']);
    await eventually(async () => expect(await jobsOf(database, asked.id)).toEqual([]));

    const { pinToken: _spent, ...reported } = asked.response;
    expect(outcomeOf(await phone.submit(request))).toEqual({ ...reported, isSingleTapAndPin: false });
  });

  test('a PIN that comes too late is 409, also after a wrong one', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const again = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    await untilDeclined(installation, asked.id);
    const { authorizations } = installation.asked;
    expect(problemOf(await enterPin(phone, again))).toMatchObject({ status: 409, errorCode: 104 });
    expect(installation.asked.authorizations).toBe(authorizations);
    expect(await storedTransaction(installation.database, asked.id)).toMatchObject({ attempt: 2, responseCode: '55' });
  });

  test('the integrator is notified when the step ends, and not before', async () => {
    const receiver = await startReceiver();
    try {
      const secret = await (await Backend.open(installation)).listenAt(receiver.url);
      const phone = installation.phone();
      const expired = await tapForPin(phone);
      const approved = await tapForPin(phone);
      expect(outcomeOf(await enterPin(phone, approved)).type).toBe('Approved');
      await untilDeclined(installation, expired.id);
      const reported = await eventually(() => {
        expect(receiver.received).toHaveLength(2);
        return receiver.received.map((received) => verifiedEvent(received, secret));
      });
      expect(reported).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            serviceReference: approved.id,
            disposition: 'Approved',
            type: 'transaction.completed',
          }),
          expect.objectContaining({
            serviceReference: expired.id,
            disposition: 'Declined',
            type: 'transaction.completed',
          }),
        ]),
      );
    } finally {
      await receiver.close();
    }
  });
});

describe('with the usual time', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ role: 'none' });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  test('a gateway killed while a PIN is awaited: the next one accepts the PIN', async () => {
    const killed = await GatewayProcess.start(installation, 'all');
    const phone = new Phone(installation.profile('coffee', killed.url));
    const asked = await tapForPin(phone);
    await killed.kill('SIGKILL');
    await expectSoundStates(installation.database);

    const next = await installation.startGateway();
    const samePhone = new Phone(installation.profile('coffee', next.url), phone.deviceInstallationId);
    expect(outcomeOf(await enterPin(samePhone, asked)).type).toBe('Approved');
    await untilResponded(installation.database, asked.id);
    await next.stop();
  });

  test('a gateway killed while a PIN is awaited: the next one ends the wait', async () => {
    const { database } = installation;
    const killed = await GatewayProcess.start(installation, 'all');
    const phone = new Phone(installation.profile('coffee', killed.url));
    const asked = await tapForPin(phone);
    await untilResponded(database, asked.id);
    await killed.kill('SIGKILL');
    const [job] = await jobsOf(database, asked.id);
    expect((job?.startsAtMs ?? 0) - Date.now()).toBeGreaterThan(80_000);
    await letTimePass(database, asked.id, 91);

    const next = await installation.startGateway();
    expect(await untilDeclined(installation, asked.id)).toMatchObject({ attempt: 1 });
    await next.stop();
  });

  test('a job that runs too early does not end the wait, and runs again', async () => {
    const { database } = installation;
    const gateway = await installation.startGateway();
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    await untilResponded(database, asked.id);
    await database.query("update pgboss.job set start_after = now() where data ->> 'id' = $1", [asked.id]);
    await eventually(async () => {
      const [job] = await jobsOf(database, asked.id);
      expect(job?.startsAtMs).toBeGreaterThan(Date.now()); // another one, a second later
    });
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
    await gateway.stop();
  });

  test('an expired wait accepts no PIN, even if its job is late', async () => {
    const { database } = installation;
    const gateway = await installation.startGateway();
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const pin = await sealPin(phone, asked);
    await untilResponded(database, asked.id);
    // The row has expired according to the database's clock; the token and the job have not.
    await database.query("update transactions set pin_expires_at = pin_expires_at - interval '91 s' where id = $1", [
      asked.id,
    ]);
    const { authorizations } = installation.asked;
    expect(problemOf(await phone.submitPin(pin))).toMatchObject({ status: 409 });
    expect(installation.asked.authorizations).toBe(authorizations);
    await gateway.stop();
  });
});
