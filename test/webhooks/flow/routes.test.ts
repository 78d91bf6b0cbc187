import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Role } from '../../../src/auth/portal/portal-user.ts';
import type { Tenant } from '../../../src/payments/ports/store-ports.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { PASSWORD, savePortalUser } from '../../support/portal-users.ts';
import { outcomeOf } from '../../support/responses.ts';
import { Backend, untilReported } from '../backend.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

let installation: Installation;
let backend: Backend;
let stranger: Backend;
let receiver: Receiver;
let secret: string;
beforeAll(async () => {
  installation = await startInstallation();
  receiver = await startReceiver();
  backend = await Backend.open(installation);
  stranger = await Backend.open(installation, 'flowers');
  secret = await backend.listenAt(receiver.url);
});
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

/** An event of the first integrator, delivered. */
async function event(): Promise<string> {
  const id = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;
  await untilReported(receiver, secret, id);
  return eventually(async () => {
    const [found] = await backend.eventsOf(id);
    expect(found?.state).toBe('delivered');
    return found!.id;
  });
}

const CALLBACK_ROUTES = [
  ['POST', '/integrator/callbackUrl', { callbackUrl: 'https://shop.example/hook' }],
  ['GET', '/integrator/callbackUrl', undefined],
  ['POST', '/integrator/callbackUrl/secret', undefined],
] as const;
const EVENT_ROUTES = [
  ['GET', '/integrator/events', undefined],
  ['GET', `/integrator/events/${randomUUID()}/attempts`, undefined],
  ['POST', `/integrator/events/${randomUUID()}/replay`, undefined],
  ['POST', '/integrator/events/replay', { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }],
] as const;

const key = async (owner?: Parameters<Installation['apiKey']>[0]) => ({
  'x-api-key': await installation.apiKey(owner),
});
const bearer = async (merchant?: 'coffee' | 'flowers') => ({
  authorization: `Bearer ${await installation.phone(merchant).token()}`,
});

describe('the callback of an integrator', () => {
  test.each(
    CALLBACK_ROUTES,
  )('%s %s requires key and token together, and accepts neither alone', async (method, path, body) => {
    for (const headers of [await key(), await bearer(), {}]) {
      const response = await backend.ask(method, path, body, headers);
      expect(response).toMatchObject({ status: 401, body: { errorCode: 100, httpStatusCode: 401 } });
      expect(response.headers.get('content-type')).toContain('application/problem+json');
      expect(response.headers.get('www-authenticate')).toContain('Bearer');
    }
  });

  test.each(CALLBACK_ROUTES)('%s %s refuses a key and a token of two integrators', async (method, path, body) => {
    const headers = { ...(await key()), ...(await bearer('flowers')) };
    expect(await backend.ask(method, path, body, headers)).toMatchObject({ status: 403, body: { errorCode: 101 } });
  });

  test('is available to a portal user who administers the integrator, with its key', async () => {
    const loginOf = async (owner: Tenant, role: Role, permissions: string[] = []) => {
      const { username } = await savePortalUser(installation.database, owner, role, permissions);
      const { body } = await backend.ask('POST', '/login', { username, password: PASSWORD }, {});
      return { ...(await key()), authorization: `Bearer ${(body as { token: string }).token}` };
    };
    const own = { acquirerId: 1, integratorId: 10 };
    for (const headers of [await loginOf(own, 'admin'), await loginOf(own, 'viewer', ['webhooks:manage'])]) {
      const registration = { callbackUrl: receiver.url };
      expect(await backend.ask('POST', '/integrator/callbackUrl', registration, headers)).toMatchObject({
        status: 200,
      });
      expect(await backend.ask('GET', '/integrator/callbackUrl', undefined, headers)).toMatchObject({
        status: 200,
        body: registration,
      });
    }
    const others = [
      loginOf(own, 'operator'),
      loginOf({ acquirerId: 1, integratorId: 11 }, 'admin'),
      loginOf({ ...own, merchantId: '1001' }, 'admin'),
      loginOf({ acquirerId: 1 }, 'admin'),
    ];
    for (const headers of await Promise.all(others)) {
      for (const [method, path, body] of CALLBACK_ROUTES)
        expect(await backend.ask(method, path, body, headers)).toMatchObject({ status: 403 });
    }
  });

  test.each([
    ['an acquirer', { acquirerId: 1 }],
    ['a merchant', { acquirerId: 1, integratorId: 10, merchantId: '1001' }],
  ])('is not available to %s', async (_who, owner) => {
    const headers = { ...(await key(owner)), ...(await bearer()) };
    for (const [method, path, body] of CALLBACK_ROUTES) {
      expect(await backend.ask(method, path, body, headers)).toMatchObject({ status: 403 });
    }
  });

  test('is shown to it alone', async () => {
    expect((await backend.ask('GET', '/integrator/callbackUrl')).body).toEqual({ callbackUrl: receiver.url });
    expect((await stranger.ask('GET', '/integrator/callbackUrl')).body).toEqual({ callbackUrl: null });
  });

  test('has a secret that is shown once, and none before it is registered', async () => {
    const response = await backend.ask('POST', '/integrator/callbackUrl/secret');
    expect(response.body).toEqual({ secret: expect.stringMatching(/^whsec_/), previousValidUntil: expect.any(String) });
    expect(response.headers.get('cache-control')).toBe('no-store');
    const hoursLeft =
      (Date.parse((response.body as { previousValidUntil: string }).previousValidUntil) - Date.now()) / 3_600_000;
    expect(hoursLeft).toBeCloseTo(24, 1);
    secret = (response.body as { secret: string }).secret;
    expect(JSON.stringify((await backend.ask('GET', '/integrator/callbackUrl')).body)).not.toContain('whsec_');
    expect(await stranger.ask('POST', '/integrator/callbackUrl/secret')).toMatchObject({
      status: 404,
      body: { errorCode: 122 },
    });
  });

  test('has a first secret without an overlap: the previous one was never shown', async () => {
    const tailor = await Backend.open(installation, 'tailor');
    await tailor.register(receiver.url);
    const first = await tailor.ask('POST', '/integrator/callbackUrl/secret');
    expect(first.body).toMatchObject({ previousValidUntil: null });
    const second = await tailor.ask('POST', '/integrator/callbackUrl/secret', { overlapHours: 0 });
    expect(second.body).toMatchObject({ previousValidUntil: null });
    const third = await tailor.ask('POST', '/integrator/callbackUrl/secret', { overlapHours: 1 });
    expect(third.body).toMatchObject({ previousValidUntil: expect.any(String) });
  });

  test('is not replaced again while the replaced one still signs, unless one is compromised', async () => {
    const tailor = await Backend.open(installation, 'tailor');
    await tailor.register(receiver.url);
    await tailor.ask('POST', '/integrator/callbackUrl/secret', { overlapHours: 0 });
    const stored = async () => {
      const { rows } = await installation.database.query(
        `select previous_sealed_secret as secret, previous_until as until from webhook_endpoints where acquirer_id = 2`,
      );
      return rows[0];
    };
    await tailor.ask('POST', '/integrator/callbackUrl/secret', { overlapHours: 24 });
    const promised = await stored();
    for (const overlapHours of [0, 1, 24])
      expect(await tailor.ask('POST', '/integrator/callbackUrl/secret', { overlapHours })).toMatchObject({
        status: 409,
        body: { errorCode: 134 },
      });
    expect(await stored()).toEqual(promised);
    const compromised = { overlapHours: 1, isCompromised: true };
    expect(await tailor.ask('POST', '/integrator/callbackUrl/secret', compromised)).toMatchObject({ status: 400 });
    const statement = { overlapHours: 0, isCompromised: true };
    const ended = await tailor.ask('POST', '/integrator/callbackUrl/secret', statement);
    expect(ended).toMatchObject({ status: 200, body: { previousValidUntil: null } });
  });

  test.each([-1, 169, '1', 0.0001, 0.5, 1e-10])('has no secret with an overlap of %s hours', async (overlapHours) => {
    expect(await backend.ask('POST', '/integrator/callbackUrl/secret', { overlapHours })).toMatchObject({
      status: 400,
    });
  });

  test.each([
    ['https://10.0.0.1/hook', 'must lead to a public address'],
    ['https://169.254.169.254/latest/meta-data/', 'must lead to a public address'],
    ['https://[::ffff:10.0.0.1]/hook', 'must lead to a public address'],
    ['http://192.168.1.1/hook', 'must lead to a public address'],
    ['https://user:swordfish@shop.example/', 'must not contain a user name or password'],
    ['ftp://shop.example/hook', 'must begin with https://'],
    ['https://shop.example:22/', 'must use port 443 or a port above 1023'],
    ['shop.example/hook', 'must be an absolute URL'],
  ])('is not registered at %s', async (callbackUrl, detail) => {
    const response = await backend.register(callbackUrl);
    expect(response).toMatchObject({
      status: 400,
      body: { errorCode: 104, errors: [{ pointer: '/callbackUrl', detail }] },
    });
    expect(JSON.stringify(response.body)).not.toContain('swordfish');
    expect((await backend.ask('GET', '/integrator/callbackUrl')).body).toEqual({ callbackUrl: receiver.url });
  });

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['no characters', ''],
    ['too many characters', `https://shop.example/${'a'.repeat(2_048)}`],
  ])('is not registered with %s for a URL', async (_what, callbackUrl) => {
    const response = await backend.ask('POST', '/integrator/callbackUrl', { callbackUrl });
    expect(response).toMatchObject({ status: 400, body: { errors: [{ pointer: '/callbackUrl' }] } });
  });

  test('is registered under its normal form', async () => {
    await backend.register(`HTTP://LOCALHOST:${receiver.port}/hook`);
    const { body } = await backend.ask('GET', '/integrator/callbackUrl');
    expect(body).toEqual({ callbackUrl: `http://localhost:${receiver.port}/hook` });
    await backend.register(receiver.url);
  });

  test('accepts no other method', async () => {
    const response = await fetch(new URL('/integrator/callbackUrl', installation.url), { method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, POST');
  });
});

describe('the events of an integrator', () => {
  test.each(EVENT_ROUTES)('%s %s requires its key, and accepts no token alone', async (method, path, body) => {
    expect(await backend.ask(method, path, body, await bearer())).toMatchObject({ status: 401 });
    expect(await backend.ask(method, path, body, { 'x-api-key': 'tw_test_x' })).toMatchObject({ status: 401 });
    expect([200, 202, 404]).toContain((await backend.ask(method, path, body, await key())).status);
    const merchants = await key({ acquirerId: 1, integratorId: 10, merchantId: '1001' });
    expect(await backend.ask(method, path, body, merchants)).toMatchObject({ status: 403 });
  });

  test('events of another owner receive exactly the same response as unknown ones', async () => {
    const id = await event();
    for (const [method, action] of [
      ['GET', 'attempts'],
      ['POST', 'replay'],
    ] as const) {
      const [someone, unknown] = await Promise.all(
        [id, randomUUID()].map((each) => stranger.ask(method, `/integrator/events/${each}/${action}`)),
      );
      expect(someone!.status).toBe(404);
      const comparable = ({ body }: typeof someone & object) => ({ ...(body as object), instance: '', requestId: '' });
      expect(comparable(someone!)).toEqual(comparable(unknown!));
    }
    expect(await stranger.events()).toEqual([]);
    const range = { from: '2026-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', includeDelivered: true };
    expect((await stranger.ask('POST', '/integrator/events/replay', range)).body).toEqual({ replayed: 0 });
  });

  test('are listed newest first, page by page, by type, state, transaction and time', async () => {
    const ids = [await event(), await event(), await event()];
    const all = await backend.events();
    expect(all.slice(0, 3).map(({ id }) => id)).toEqual(ids.toReversed());

    const first = await backend.ask('GET', '/integrator/events?limit=2');
    const next = /<(.*)>; rel="next"/.exec(first.headers.get('link')!)![1]!;
    const second = await backend.ask('GET', next);
    const page = (response: { body: unknown }) => (response.body as { id: string }[]).map(({ id }) => id);
    expect([...page(first), ...page(second)]).toEqual(all.slice(0, 4).map(({ id }) => id));

    const [{ serviceReference, createdAt }] = all as [(typeof all)[number]];
    expect((await backend.events(`?serviceReference=${serviceReference}`)).map(({ id }) => id)).toEqual([all[0]!.id]);
    expect(await backend.events('?state=failed')).toEqual([]);
    expect(await backend.events('?type=refund.completed')).toEqual([]);
    expect((await backend.events('?state=delivered&type=transaction.completed')).length).toBe(all.length);
    expect(
      await backend.events(`?from=${encodeURIComponent(new Date(Date.parse(createdAt) + 1_000).toISOString())}`),
    ).toEqual([]);
    expect((await backend.events(`?to=${createdAt}`)).map(({ id }) => id)).not.toContain(all[0]!.id);
  });

  test.each([
    '?limit=0',
    '?limit=501',
    '?limit=x',
    '?state=open',
    '?type=x',
    '?from=yesterday',
    '?after=1',
    '?stat=failed',
  ])('are not listed by %s', async (query) =>
    expect(await backend.ask('GET', `/integrator/events${query}`)).toMatchObject({ status: 400 }));

  test.each([
    [{}, '/from'],
    [{ from: 'x', to: '2026-01-02T00:00:00Z' }, '/from'],
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-02T00:00:00Z' }, '/to'],
    [{ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', includeDelivered: 'yes' }, '/includeDelivered'],
  ])('are not replayed by %j', async (range, pointer) => {
    const response = await backend.ask('POST', '/integrator/events/replay', range);
    expect(response.status).toBe(400);
    expect((response.body as { errors: { pointer: string }[] }).errors.map((error) => error.pointer)).toContain(
      pointer,
    );
  });

  test('the events of an integrator that are due are not replayed again and again', async () => {
    const id = await event();
    const { database } = installation;
    await database.query(`update webhook_events set state = 'pending', next_at = now() where id = $1`, [id]);
    const jobs = async () => {
      const { rows } = await database.query<{ count: number }>(
        `select count(*)::int from pgboss.job where name = 'webhook' and data ->> 'eventId' = $1`,
        [id],
      );
      return rows[0]!.count;
    };
    const before = await jobs();
    const range = {
      from: new Date(Date.now() - 3_600_000).toISOString(),
      to: new Date(Date.now() + 60_000).toISOString(),
    };
    for (let n = 0; n < 10; n++) {
      expect(await backend.ask('POST', `/integrator/events/${id}/replay`)).toMatchObject({ status: 202 });
      expect(await backend.ask('POST', '/integrator/events/replay', range)).toMatchObject({ status: 202 });
    }
    expect(await jobs()).toBe(before);
  });

  test('the events of an integrator with a thousand attempts are not replayed, and their last hundred attempts are shown', async () => {
    const id = await event();
    const { database } = installation;
    await database.query(
      `insert into webhook_attempts (acquirer_id, event_id, number, at, url, status, duration_ms, response)
       select a.acquirer_id, a.event_id, n, a.at, a.url, a.status, a.duration_ms, a.response
       from webhook_attempts a, generate_series(2, 1000) n where a.event_id = $1 and a.number = 1`,
      [id],
    );
    await database.query('update webhook_events set attempts = 1000 where id = $1', [id]);
    const shown = await backend.ask('GET', `/integrator/events/${id}/attempts`);
    expect((shown.body as { number: number }[]).map(({ number }) => number)).toEqual(
      Array.from({ length: 100 }, (_, index) => 901 + index),
    );
    const refused = await backend.ask('POST', `/integrator/events/${id}/replay`);
    expect(refused).toMatchObject({ status: 409, body: { errorCode: 134 } });
  });

  test('are not replayed in tens of thousands', async () => {
    await installation.database.query(
      `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state, created_at)
       select 1, gen_random_uuid(), 10, gen_random_uuid(), gen_random_uuid(), 'transaction.completed', '{}', 'failed', '2020-01-01'
       from generate_series(1, 10001)`,
    );
    const range = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' };
    const response = await backend.ask('POST', '/integrator/events/replay', range);
    expect(response).toMatchObject({ status: 400, body: { errors: [{ pointer: '/to' }] } });
    const { rows } = await installation.database.query(
      "select from webhook_events where round > 1 and created_at < '2021-01-01'",
    );
    expect(rows).toEqual([]);
  });
});

test('no secret is in the clear in any column, job or log line', async () => {
  await event();
  const secretText = secret.slice('whsec_'.length);
  const { rows } = await installation.database.query<{ text: string }>(
    `select t::text from webhook_endpoints t union all select t::text from webhook_events t where created_at > '2021-01-01'
     union all select t::text from webhook_attempts t union all select t::text from pgboss.job t`,
  );
  const stored = rows.map(({ text }) => text).join('\n');
  for (const form of [
    secretText,
    Buffer.from(secret).toString('hex'),
    Buffer.from(secretText, 'base64').toString('hex'),
  ]) {
    expect(stored).not.toContain(form);
    expect(JSON.stringify(installation.logLines)).not.toContain(form);
  }
});
