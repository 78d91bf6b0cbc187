import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { Relay } from '../../support/relay.ts';
import { outcomeOf } from '../../support/responses.ts';
import { untilResponded } from '../../support/transactions.ts';
import { Backend, untilReported } from '../backend.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

let installation: Installation;
let receiver: Receiver;
let relay: Relay | undefined;
let switchPort: number;
let port: number;
beforeAll(async () => {
  const connectTo = async (given: number) => {
    switchPort = given;
    port = await freePort();
    return port;
  };
  installation = await startInstallation({ role: 'none', connectTo });
  await installation.startGateway({}, { isSwitchDown: true });
  receiver = await startReceiver();
});
afterAll(async () => {
  await installation.stop();
  await relay?.close();
  await receiver.close();
});

test('a tap that reached no switch is reported, and its next attempt, of another amount, is reported after it', async () => {
  const backend = await Backend.open(installation);
  const secret = await backend.listenAt(receiver.url);
  const phone = installation.phone();
  const merchantReference = randomUUID();
  const first = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR', merchantReference }));
  expect(first.type).toBe('UnableToGoOnline');
  await untilResponded(installation.database, first.serviceReference);

  relay = await Relay.open(switchPort, port);
  const other = installation.phone();
  await eventually(async () => {
    expect(outcomeOf(await other.tap({ amount: '1.00', currency: 'ZAR' })).type).toBe('Approved');
  });
  const second = outcomeOf(await phone.tap({ amount: '12.00', currency: 'ZAR', merchantReference }));
  expect(second).toMatchObject({ type: 'Approved', serviceReference: first.serviceReference });

  const events = await untilReported(receiver, secret, first.serviceReference, 2);
  const [before, after] = events.sort((one, another) => one.sequence - another.sequence);
  expect(before).toMatchObject({ disposition: 'UnableToGoOnline', errorCode: 210, amount: 10, authorisationCode: '' });
  expect(before).not.toHaveProperty('paymentProviderReference');
  expect(before).not.toHaveProperty('paymentProviderFields');
  expect(after).toMatchObject({ disposition: 'Approved', amount: 12, authorisationCode: second.authorizationCode });
  expect(after!.sequence).toBeGreaterThan(before!.sequence);
});
