import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ProcessorFinding, RouteVerdict } from '../../schemas/admin-routing.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { request } from '../support/requests.ts';
import { ROUTE_ID, xTidOf } from '../support/tenants.ts';

let installation: Installation;
const keys = new Map<number | 'operator', string>();
beforeAll(async () => {
  installation = await startInstallation();
  for (const acquirerId of [1, 2])
    keys.set(acquirerId, await saveApiKey(installation.database, { acquirerId }, ['processors:manage']));
  keys.set('operator', await saveApiKey(installation.database, 'operator', ['processors:manage']));
});
afterAll(() => installation.stop());

function call(method: string, path: string, body?: object, by: number | 'operator' = 1) {
  return request(installation.url, path, {
    method,
    headers: { 'x-api-key': keys.get(by)!, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const check = async (id: number) =>
  (await call('POST', `/acquirers/1/processors/${id}/check`)).body as ProcessorFinding[];

async function addProcessor(host: string, port: number): Promise<number> {
  const config = { addresses: [{ host, port }], acquirerId: '50001' };
  const { body } = await call('POST', '/acquirers/1/processors', { type: 'type-1', config });
  const { id } = body as { id: number };
  onTestFinished(async () => void (await call('DELETE', `/acquirers/1/processors/${id}`)));
  return id;
}

const textOf = (findings: readonly ProcessorFinding[]) =>
  findings.map(({ verdict, description }) => `${verdict}: ${description}`).join('\n');

describe('the check of a processor', () => {
  test('says that the switch accepts connections, and that the running process is signed on', async () => {
    await eventually(async () => expect(textOf(await check(1))).toContain('the gateway is signed on'));
    const findings = await check(1);
    expect(new Set(findings.map(({ verdict }) => verdict))).toEqual(new Set(['good']));
    expect(textOf(findings)).toMatch(/good: (\d) of \1 connections \(processes: 1\) are signed on/);
  });

  test('names an address that accepts no connection, a missing route, and a switch without sign-on', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    const refused = textOf(await check(await addProcessor('127.0.0.1', port)));
    expect(refused).toContain(`fault: 127.0.0.1:${port} accepts no connection`);
    expect(refused).toContain('warning: no route leads to the processor');
    // It accepts connections and never responds.
    const silent = createServer((socket) => socket.on('error', () => {}).resume());
    silent.listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const id = await addProcessor('127.0.0.1', (silent.address() as { port: number }).port);
    await eventually(async () =>
      expect(textOf(await check(id))).toMatch(/fault: .*no connection of the gateway is signed on/),
    );
  });

  test('is for the administrators of the acquirer only', async () => {
    expect((await call('POST', '/acquirers/1/processors/1/check', undefined, 'operator')).status).toBe(200);
    for (const [path, by] of [
      ['/acquirers/1/processors/1/check', 2],
      ['/acquirers/2/processors/999/check', 2],
    ] as const)
      expect([path, (await call('POST', path, undefined, by)).status]).toEqual([path, 404]);
    expect((await call('POST', '/acquirers/1/routes/all/check', { currency: 'ZAR', xTid: 'x' }, 2)).status).toBe(404);
  });
});

describe('the trial of routes', () => {
  const tried = async (question: object) => {
    const { status, body } = await call('POST', '/acquirers/1/routes/all/check', question);
    expect(status).toBe(200);
    return (body as RouteVerdict[]).map(({ routeId, verdict, reason }) => ({ routeId, verdict, reason }));
  };
  const addRoute = async (settings: object) => {
    const { body, status } = await call('POST', '/acquirers/1/routes', settings);
    expect(status).toBe(201);
    const { id } = body as { id: number };
    onTestFinished(async () => void (await call('DELETE', `/acquirers/1/routes/${id}`)));
    return id;
  };

  test('agrees with the route that a tap takes, and says why others do not take it', async () => {
    const xTid = xTidOf('coffee');
    const only = await addRoute({ processorId: 1, priority: 0, scheme: 'Mastercard', currency: 'ZAR' });
    const elsewhere = await addRoute({ processorId: 1, priority: 0, currency: 'EUR', xTid });
    const [first, ...others] = await tried({ currency: 'ZAR', scheme: 'Visa', xTid });
    const { body } = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
    const { serviceReference } = (body as { onlineAuthorizationResponse: { serviceReference: string } })
      .onlineAuthorizationResponse;
    const { rows } = await installation.database.query('select route_id from transactions where id = $1', [
      serviceReference,
    ]);
    expect(first).toMatchObject({ routeId: rows[0].route_id, verdict: 'chosen' });
    expect(rows[0].route_id).toBe(ROUTE_ID);
    expect(others.filter(({ verdict }) => verdict === 'unfit')).toEqual(
      expect.arrayContaining([
        { routeId: only, verdict: 'unfit', reason: 'It takes only the scheme Mastercard.' },
        { routeId: elsewhere, verdict: 'unfit', reason: 'It takes only the currency EUR.' },
      ]),
    );
    const [now, next] = await tried({ currency: 'ZAR', scheme: 'Mastercard', xTid });
    expect([now?.routeId, now?.verdict, next?.routeId, next?.verdict]).toEqual([only, 'chosen', ROUTE_ID, 'fallback']);
  });

  test('prefers a switch that is signed on to one of a better priority that is not', async () => {
    const id = await addProcessor('127.0.0.1', 1);
    const dead = await addRoute({ processorId: id, priority: 0 });
    const verdicts = await tried({ currency: 'ZAR', scheme: 'Visa', xTid: xTidOf('coffee') });
    expect(verdicts[0]).toMatchObject({ routeId: ROUTE_ID, verdict: 'chosen' });
    expect(verdicts.find(({ routeId }) => routeId === dead)?.verdict).toBe('unavailable');
  });

  test('refuses an unknown terminal, and questions that are none', async () => {
    for (const question of [
      { currency: 'ZAR', xTid: 'no such terminal' },
      { currency: 'zar', xTid: xTidOf('coffee') },
      { currency: 'ZAR' },
      { currency: 'ZAR', xTid: xTidOf('coffee'), amount: '10.00' },
    ])
      expect([question, (await call('POST', '/acquirers/1/routes/all/check', question)).status]).toEqual([
        question,
        400,
      ]);
  });
});
