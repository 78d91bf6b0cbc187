import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Problem } from '../../schemas/problem.ts';
import { findProcessorFaults } from '../../src/store/switches/processor-reports.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';

/** Another service on the machine, which a tenant must not reach. */
let neighbour: Server;
let connections = 0;
let installation: Installation;
let keys: readonly string[];
beforeAll(async () => {
  neighbour = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => neighbour.listen(0, '127.0.0.1', resolve));
  // The switch of both acquirers is at its port; the second acquirer has no other address, and no key of the first one.
  let switchPort = 0;
  const connectTo = async (port: number) => {
    switchPort = port;
    return port;
  };
  installation = await startInstallation({ role: 'none', connectTo });
  await installation.startGateway({
    SWITCH_NETWORKS: `*=127.0.0.1:${switchPort}`,
    SWITCH_LISTENERS: '1=127.0.0.1:9101',
    SWITCH_KEYS: '*=zone-pin,1=first-mac',
  });
  const acquirers = [1, 2].map((acquirerId) =>
    saveApiKey(installation.database, { acquirerId }, ['processors:manage']),
  );
  keys = await Promise.all([...acquirers, saveApiKey(installation.database, 'operator', ['processors:manage'])]);
});
afterAll(async () => {
  await installation.stop();
  neighbour.close();
});

const neighbourPort = () => (neighbour.address() as { port: number }).port;

function add(config: object, apiKey = keys[1]!, acquirerId = 2): Promise<RawResponse> {
  const settings = { addresses: [{ host: 'switch.example', port: 9101 }], acquirerId: '50001', ...config };
  return request(installation.url, `/acquirers/${acquirerId}/processors`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'type-1', config: settings }),
  });
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);

describe('the processor of an acquirer is refused', () => {
  test.each([
    ['the metadata service', { addresses: [{ host: '169.254.169.254', port: 80 }] }, '/config/addresses/0/host'],
    ['this machine', { addresses: [{ host: '127.0.0.1', port: 5432 }] }, '/config/addresses/0/host'],
    ['this machine by IPv6', { addresses: [{ host: '::ffff:127.0.0.1', port: 5432 }] }, '/config/addresses/0/host'],
    ['this machine by name', { addresses: [{ host: 'localhost', port: 5432 }] }, '/config/addresses/0/host'],
    ['every port', { accept: { port: 8443, from: ['192.0.2.1'] } }, '/config/accept/port'],
    [
      'the port of another acquirer',
      { accept: { host: '127.0.0.1', port: 9101, from: ['127.0.0.1'] } },
      '/config/accept/port',
    ],
    ['the PIN key of another acquirer', { pinKey: { keyId: 'acquirer/1/pin', format: 0 } }, '/config/pinKey/keyId'],
    ['the key of the readers', { pinKey: { keyId: 'reader-bdk', format: 0 } }, '/config/pinKey/keyId'],
  ])('the processor of an acquirer that names %s is refused', async (_what, config, pointer) => {
    const response = await add(config);
    expect(response).toMatchObject({ status: 400, body: { errorCode: 104 } });
    expect(pointersOf(response)).toEqual([pointer]);
  });

  test('the processor of an acquirer is refused in the same way for an existing key and a missing one, so that keys are not revealed', async () => {
    const problem = async (keyId: string) => {
      const { body } = await add({ pinKey: { keyId, format: 0 } });
      const { status, errors } = body as Problem;
      return { status, errors };
    };
    expect(await problem('first-mac')).toEqual(await problem('no-such-key'));
  });

  test('the processor of an acquirer is refused also for the operator, whose own settings define the owners', async () => {
    expect(await add({ accept: { host: '127.0.0.1', port: 9101, from: ['127.0.0.1'] } }, keys[2])).toMatchObject({
      status: 400,
    });
    const own = await add(
      { accept: { host: '127.0.0.1', port: 9101, from: ['127.0.0.1'] }, addresses: [] },
      keys[2],
      1,
    );
    expect(own.status).toBe(201);
    const { id } = own.body as { id: number };
    await installation.database.query('delete from processors where acquirer_id = 1 and id = $1', [id]);
  });

  test("the processor of an acquirer is refused if it is changed to name another owner's object", async () => {
    const { body } = await add({});
    const { id } = body as { id: number };
    const changed = await request(installation.url, `/acquirers/2/processors/${id}`, {
      method: 'PUT',
      headers: { 'x-api-key': keys[1]!, 'content-type': 'application/json' },
      body: JSON.stringify({
        type: 'type-1',
        config: { addresses: [{ host: '10.0.0.1', port: 22 }], acquirerId: '50001' },
      }),
    });
    expect(changed.status).toBe(400);
    expect(pointersOf(changed)).toEqual(['/config/addresses/0/host']);
  });
});

test('a processor that was stored earlier is not opened, no connection is made for it, and all others work', async () => {
  const { database } = installation;
  const store = (id: number, config: object) =>
    database.query(
      `insert into processors (acquirer_id, id, type, config)
       select 2, $1, type, config || $2::text::jsonb from processors where acquirer_id = 2 and id = 1`,
      [id, JSON.stringify(config)],
    );
  const address = [{ host: '127.0.0.1', port: neighbourPort() }];
  await store(90, { addresses: address });
  await store(91, { pinKey: { keyId: 'acquirer/1/pin', format: 0 } });
  // This name must be resolved to learn its address.
  await store(92, { addresses: [{ host: 'ip6-localhost', port: neighbourPort() }] });
  await eventually(async () => {
    const faults = await findProcessorFaults(database, 2);
    const reasonOf = (id: number) => faults.find(({ processorId }) => processorId === id)?.reason;
    expect(reasonOf(90)).toMatch(/addresses\.0\.host: an address that the operator has not given/);
    expect(reasonOf(91)).toMatch(/pinKey\.keyId: a key that is not of this acquirer/);
  });
  const response = await installation.phone('tailor').tap({ amount: '10.00', currency: 'ZAR' });
  expect(outcomeOf(response).type).toBe('Approved');
  expect(connections).toBe(0);
});
