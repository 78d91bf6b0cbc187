import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { storedTransaction } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', profile: { deadlineMs: 10_000 } });
});
afterAll(() => installation.stop());

const SLOW = { amount: '20.20', currency: 'ZAR' } as const;

test('a gateway that is stopped responds to the tap in flight, records that, and accepts no further taps', async () => {
  const gateway = await installation.startGateway();
  const phone = installation.phone();
  const { url } = gateway;
  const response = phone.tap(SLOW);
  await eventually(() => expect(installation.asked.authorizations).toBe(1));
  await gateway.stop();
  const { serviceReference, type } = outcomeOf(await response);
  expect(type).toBe('Approved');
  expect(await storedTransaction(installation.database, serviceReference)).toMatchObject({
    status: 'RespondedToPhone',
  });
  await expect(fetch(new URL('/livez', url))).rejects.toThrow('fetch failed');
  await expectInvariants(installation);
});

describe.each(['SIGTERM', 'SIGINT'] as const)('a process that gets %s', (signal) => {
  test('responds to the tap in flight and ends with exit code 0', async () => {
    const gateway = await GatewayProcess.start(installation, 'all');
    const phone = new Phone(installation.profile('bakery', gateway.url));
    const before = installation.asked.authorizations;
    const response = phone.tap(SLOW);
    await eventually(() => expect(installation.asked.authorizations).toBe(before + 1));
    const ended = gateway.kill(signal);
    const { serviceReference, type } = outcomeOf(await response);
    expect(type).toBe('Approved');
    const { exitCode, output } = await ended;
    expect(exitCode, output).toBe(0);
    expect(await storedTransaction(installation.database, serviceReference), output).toMatchObject({
      status: 'RespondedToPhone',
    });
    expect(output).not.toContain('could not be recorded');
    await expectInvariants(installation);
  });
});
