import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { postTap } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { storedTransactions, trailOf, untilStatus } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ profile: { deadlineMs: 60_000 } });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

test('a phone that hangs up before the response is recorded as such with the outcome, and as responded to when it repeats its request', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const sealed = await phone.seal({ amount: '10.10', currency: 'ZAR' });
  const hangUp = new AbortController();
  const gone = postTap(installation.url, phone, sealed, { signal: hangUp.signal }).catch((error: Error) => error.name);
  await eventually(() => expect(installation.asked.authorizations).toBe(1));
  hangUp.abort();
  expect(await gone).toBe('AbortError');

  const [{ id } = { id: '' }] = await storedTransactions(database);
  // A worker would record it when the attempt is overdue, a minute after the tap.
  const failed = await untilStatus(database, id, 'FailedToRespondToPhone');
  expect(failed).toMatchObject({ responseCode: '00', disposition: 0 });

  const response = outcomeOf(await phone.submit(sealed));
  expect(response).toMatchObject({ type: 'Approved', serviceReference: id });
  await untilStatus(database, id, 'RespondedToPhone');
  expect((await trailOf(database, id)).slice(-3)).toEqual([
    'ResponseReceivedFromPaymentProcessor',
    'FailedToRespondToPhone',
    'RespondedToPhone',
  ]);
  expect(installation.asked.authorizations).toBe(1);
});
