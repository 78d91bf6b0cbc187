import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { outcomeOf } from '../support/responses.ts';
import { tapwireHere } from '../support/run-here.ts';
import { untilResponded } from '../support/transactions.ts';

/** "My card was not charged at 14:03": what a person finds with the ids of a request. */
let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation.stop());

const run = (...args: string[]) => tapwireHere(args, installation.environment());
const CARD = '4111111111111111';

/** A tap that is refused, and the line of the log that it leaves. */
async function refusedTap(headers: Record<string, string>, body: string | object, path = '/transactions/mobile') {
  const correlationId = randomUUID();
  const response = await fetch(new URL(path, installation.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-correlation-id': correlationId, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const line = installation.logLines.find((each) => each.correlationId === correlationId);
  return { status: response.status, line };
}

test('a tap without a valid token leaves a line with its ids, and nothing of its body', async () => {
  const device = randomUUID();
  const { status, line } = await refusedTap(
    { authorization: 'Bearer nonsense', 'x-device-installation-id': device },
    { generalCardData: CARD },
  );
  expect(status).toBe(401);
  expect(line).toMatchObject({ msg: 'tap refused', status: 401, errorCode: 117, device });
  expect(JSON.stringify(line)).not.toContain(CARD);
});

test('a tap with a token and a wrong body names the merchant; a device that is no UUID is not logged', async () => {
  const token = await installation.phone().token();
  const authorization = `Bearer ${token}`;
  const { status, line } = await refusedTap({ authorization, 'x-device-installation-id': CARD }, {});
  expect(status).toBe(400);
  expect(line).toMatchObject({ msg: 'tap refused', status: 400, acquirerId: 1, merchantId: '1001' });
  expect(line).not.toHaveProperty('device');
  expect(JSON.stringify(line)).not.toContain(CARD);
});

test('a PIN for an unknown transaction is refused by name', async () => {
  const token = await installation.phone().token();
  const headers = { authorization: `Bearer ${token}`, 'x-device-installation-id': randomUUID() };
  const { line } = await refusedTap(headers, {}, `/transactions/${randomUUID()}/submitPinMobile`);
  expect(line).toMatchObject({ msg: 'PIN refused', errorCode: expect.any(Number), merchantId: '1001' });
});

test('a caller without a token cannot suppress the lines of others, and every refusal is counted', async () => {
  const before = installation.logLines.length;
  await Promise.all(Array.from({ length: 60 }, () => refusedTap({ authorization: 'Bearer nonsense' }, {})));
  const lines = installation.logLines.slice(before).filter(({ msg }) => msg === 'tap refused');
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(60);
  const token = await installation.phone().token();
  const { line } = await refusedTap({ authorization: `Bearer ${token}` }, {});
  expect(line).toMatchObject({ msg: 'tap refused', merchantId: '1001' });
  const metrics = await (await fetch(new URL('/metrics', installation.url))).text();
  const counted = /tapwire_tap_problems_total\{status="401",error_code="117"\} (\d+)/.exec(metrics)?.[1];
  expect(Number(counted)).toBeGreaterThanOrEqual(61);
});

test('a transaction is found by id, reference and correlation id, and shown without card data', async () => {
  const merchantReference = `order-${randomUUID()}`;
  const phone = installation.phone();
  const { serviceReference } = outcomeOf(await phone.tap({ amount: '10.51', currency: 'ZAR', merchantReference }));
  await untilResponded(installation.database, serviceReference);
  const { rows } = await installation.database.query<{ correlation_id: string }>(
    'select correlation_id from transactions where id = $1',
    [serviceReference],
  );
  const { correlation_id } = rows[0]!;
  for (const term of [serviceReference, merchantReference, correlation_id]) {
    const { exitCode, output } = await run('transaction', 'show', term);
    expect(exitCode).toBe(0);
    expect(output).toContain(serviceReference);
    expect(output).toMatch(/responseCode +51/);
    expect(output).toContain('to RespondedToPhone');
    expect(output).not.toContain(CARD);
  }
  const shown = await run('transaction', 'show', '--json', '--acquirer', '1', merchantReference);
  expect(JSON.parse(shown.output)).toMatchObject({ summary: { id: serviceReference, correlationId: correlation_id } });
  expect((await run('transaction', 'show', '--acquirer', '2', serviceReference)).exitCode).toBe(1);
  expect((await run('transaction', 'show', randomUUID())).exitCode).toBe(1);
});

test('a processor is shown with its connections in each process', async () => {
  await eventually(async () => {
    const { exitCode, output } = await run('processor', 'show', '--acquirer', '1', '1');
    expect(output).toMatch(/\d+ +ready/);
    expect(exitCode).toBe(0);
  });
  const none = await run('processor', 'show', '--acquirer', '1', '77');
  expect(none.output).toContain('acquirer 1 has no processor 77');
  expect(none.exitCode).not.toBe(0);
});

test('the level of the log changes while the gateway runs, and only for known levels', async () => {
  const isDebugging = async () => {
    const before = installation.logLines.length;
    await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
    return installation.logLines.slice(before).some(({ level }) => level === 20);
  };
  expect(await isDebugging()).toBe(false);
  expect((await run('log-level', 'debug', '--minutes', '5')).exitCode).toBe(0);
  await eventually(async () => expect(await isDebugging()).toBe(true));
  expect((await run('log-level', 'info')).exitCode).toBe(0);
  await eventually(async () => expect(await isDebugging()).toBe(false));
  expect((await run('log-level', 'loud')).exitCode).not.toBe(0);
  expect((await run('log-level', 'debug', '--minutes', '0')).exitCode).not.toBe(0);
});
