import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebhookSecret } from '../../src/webhooks/webhook-signature.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { REPOSITORY } from '../support/guide.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { AppPhone, createLink, post } from '../support/links.ts';
import { outcomeOf } from '../support/responses.ts';
import { MERCHANTS } from '../support/tenants.ts';

let installation: Installation;
let folder: string;
beforeAll(async () => {
  installation = await startInstallation();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-shop-'));
  // The client from its sources; `test/packages` checks the packed one.
  const client = join(folder, 'node_modules/@tapwire/client');
  mkdirSync(client, { recursive: true });
  writeFileSync(join(client, 'package.json'), '{"type":"module","exports":"./index.js"}');
  writeFileSync(join(client, 'index.js'), `export * from '${join(REPOSITORY, 'schemas/package/index.ts')}';`);
});
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true });
});

const sold = {} as Record<string, ChildProcess>;
afterAll(() => {
  for (const shop of Object.values(sold)) shop.kill();
});

/** Starts a shop, whose webhooks are signed with `secret`, and returns its address. */
async function openShop(command: string, file: string) {
  const { acquirerId, integratorId, id: MERCHANT_ID } = MERCHANTS.coffee;
  const PORT = String(await freePort());
  const url = `http://127.0.0.1:${PORT}`;
  const operator = { 'x-api-key': await saveApiKey(installation.database, { acquirerId }, ['webhooks:manage']) };
  const callback = `/acquirers/${acquirerId}/integrators/${integratorId}/callbacks/links`;
  const registered = await fetch(new URL(callback, installation.url), {
    method: 'PUT',
    headers: { ...operator, 'content-type': 'application/json' },
    body: JSON.stringify({ callbackUrl: `${url}/webhooks` }),
  });
  expect(registered.status).toBe(200);
  const rotation = { overlapHours: 0, isCompromised: true };
  const { secret } = (await post(installation, `${callback}/secret`, rotation, operator)).body as { secret: string };
  const API_KEY = await saveApiKey(installation.database, { acquirerId, integratorId }, [
    'payments:create',
    'transactions:refund',
  ]);
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, GATEWAY: installation.url, API_KEY, MERCHANT_ID, WEBHOOK_SECRET: secret, PORT };
  const shop = spawn(command, [join(folder, file)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  sold[file] = shop;
  expect(await once(createInterface(shop.stdout), 'line')).toEqual([`The shop listens on port ${PORT}.`]);
  return { url, secret };
}

const send = async (url: string, body?: unknown, headers: Record<string, string> = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method: 'POST', headers, ...(body !== undefined && { body: text }) });
  return { status: response.status, body: response.status === 204 ? undefined : await response.json() };
};

describe.each([
  ['Node', process.execPath, 'shop.mjs'],
  ['Python', 'python3', 'shop.py'],
])('the sample of a shop in %s', (_language, command, file) => {
  test('sells by link, believes only signed webhooks, and refunds', async ({ skip }) => {
    skip(spawnSync(command, ['--version']).status !== 0, `${command} is not installed`);
    copyFileSync(join(REPOSITORY, 'samples', file), join(folder, file));
    const { url, secret } = await openShop(command, file);
    const created = await send(`${url}/orders`, { amount: '25.00' });
    expect(created).toMatchObject({ status: 201, body: { state: 'open', url: expect.stringContaining('/pay/') } });
    const { id, url: address } = created.body as { id: string; url: string };
    const show = async () => (await fetch(`${url}/orders/${id}`)).json();

    const event = {
      type: 'transaction.completed',
      disposition: 'Approved',
      sequence: 9,
      merchantId: MERCHANTS.coffee.id,
      merchantReference: id,
      serviceReference: randomUUID(),
      amount: 25,
      currency: 'ZAR',
    };
    const forged = signedBy(new Webhook(createWebhookSecret().reveal()), event);
    expect((await send(`${url}/webhooks`, forged.body, forged.headers)).status).toBe(401);
    const old = signedBy(new Webhook(secret), event, Date.now() - 600_000);
    expect((await send(`${url}/webhooks`, old.body, old.headers)).status).toBe(401);
    expect((await send(`${url}/webhooks`, event)).status).toBe(401);
    const other = signedBy(new Webhook(secret), { ...event, merchantReference: 'unknown' });
    expect((await send(`${url}/webhooks`, other.body, other.headers)).status).toBe(204);
    expect(await send(`${url}/orders/${id}/refund`)).toMatchObject({ status: 404 });
    expect(await show()).toMatchObject({ state: 'open' });
    await payToNeighbour(id, '25.00');
    expect(await show()).toMatchObject({ state: 'open' });

    const [, reference, token] = /\/pay\/([^#]+)#(.+)$/.exec(address)!;
    const app = new AppPhone(installation, { id: reference!, token: token!, paymentReference: id });
    expect(outcomeOf(await app.pay({ amount: '25.00' }))).toMatchObject({ type: 'Approved' });
    await eventually(async () => expect(await show()).toMatchObject({ state: 'paid' }));
    expect(await send(`${url}/orders/${id}/refund`)).toMatchObject({ status: 200, body: { state: 'refunded' } });
    expect(installation.ledger.at(-1)).toMatchObject({ kind: 'refund', amountMinor: 2_500 });
  });
});

/** Another merchant of the integrator is paid under the same reference; resolves when the webhook was received. */
async function payToNeighbour(paymentReference: string, amount: string) {
  const link = await createLink(installation, { merchantId: MERCHANTS.bakery.id, paymentReference, amount });
  const { type, serviceReference } = outcomeOf(await new AppPhone(installation, link).pay({ amount }));
  expect(type).toBe('Approved');
  const text = `select from webhook_events where transaction_id = $1 and state = 'delivered'`;
  await eventually(async () => expect((await installation.database.query(text, [serviceReference])).rowCount).toBe(1));
}

function signedBy(signer: Webhook, event: object, atMs = Date.now()) {
  const body = JSON.stringify(event);
  const at = new Date(atMs);
  const headers = {
    'webhook-id': 'evt',
    'webhook-timestamp': String(Math.floor(atMs / 1_000)),
    'webhook-signature': signer.sign('evt', at, body),
  };
  return { body, headers };
}
