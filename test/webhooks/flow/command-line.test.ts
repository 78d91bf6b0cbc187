import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { commands as runCommands } from '../../../src/cli/callback.ts';
import { EventFeed, Listener } from '../../../src/cli/webhooks.ts';
import { createWebhookSecret, verifyWebhook } from '../../../src/webhooks/webhook-signature.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { outcomeOf } from '../../support/responses.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { Backend } from '../backend.ts';
import { ok, type Receiver, startReceiver, status } from '../receiver.ts';

const run = runnerOf(runCommands);

let installation: Installation;
let backend: Backend;
let registered: Receiver;
let local: Receiver;
beforeAll(async () => {
  installation = await startInstallation();
  backend = await Backend.open(installation);
  registered = await startReceiver();
  local = await startReceiver();
  await backend.listenAt(registered.url);
});
afterAll(async () => {
  await installation.stop();
  await registered.close();
  await local.close();
});

const tap = async (amount = '10.00') =>
  outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' })).serviceReference;

/** Runs a listener during `during`, and returns what it printed. */
async function listen(
  during: (lines: readonly string[]) => Promise<unknown>,
  { target = local.url, isFromStart = false, apiKey = '' } = {},
): Promise<{ lines: string[]; secret: string }> {
  const secret = createWebhookSecret();
  const lines: string[] = [];
  const feed = new EventFeed(installation.url, apiKey || (await installation.apiKey()));
  const listener = new Listener(feed, new URL(target), secret, (line) => void lines.push(line));
  const stop = Promise.withResolvers<void>();
  if (!isFromStart) await feed.look();
  const running = listener.run(stop.promise);
  try {
    await Promise.race([during(lines), running]);
  } finally {
    stop.resolve();
    await running;
  }
  return { lines, secret: secret.reveal() };
}

const untilPrinted = (lines: readonly string[], text: string) =>
  eventually(() => expect(lines.join('\n')).toContain(text));

describe('tapwire webhooks listen', () => {
  test('passes on each event once, signed, and reports its arrival on both sides', async () => {
    const before = await tap();
    await eventually(async () => expect(await backend.eventsOf(before)).toMatchObject([{ state: 'delivered' }]));
    let id = '';
    const { lines, secret } = await listen(async (printed) => {
      id = await tap();
      await untilPrinted(printed, 'delivered');
    });
    const received = local.received.filter(({ body }) => body.includes(id));
    expect(received).toHaveLength(1);
    expect(verifyWebhook(secret, received[0]!)).toMatchObject({ isGenuine: true, event: { serviceReference: id } });
    expect(local.received.some(({ body }) => body.includes(before))).toBe(false);
    const [event] = await backend.eventsOf(id);
    const reported = lines.join('\n');
    expect(reported).toContain(
      `transaction.completed 1  Approved  ZAR 10.00  ${event!.payload.merchantReference}  (${event!.id})`,
    );
    expect(reported).toContain('forwarded   204');
    expect(reported).toContain(`204  attempt 1 at ${registered.url}, delivered`);
  });

  test('begins with existing events on request', async () => {
    const id = await tap('10.51');
    await eventually(async () => expect(await backend.eventsOf(id)).toHaveLength(1));
    await listen((lines) => untilPrinted(lines, 'Declined'), { isFromStart: true });
    expect(local.received.some(({ body }) => body.includes(id))).toBe(true);
  });

  test.each([
    [
      'an error with its words',
      status(400, {}, 'signature does not match'),
      'NOT TAKEN  400  signature does not match',
    ],
    ['a redirect', status(301, { location: '/elsewhere' }), 'NOT TAKEN  301  a redirect, which is not followed'],
  ])('reports why one did not arrive: %s', async (_what, response, said) => {
    await tap();
    local.respond = response;
    await listen((lines) => untilPrinted(lines, said), { isFromStart: true });
    local.respond = ok;
  });

  test('reports that no server listens, and continues', async () => {
    const gone = await startReceiver();
    await gone.close();
    await listen((lines) => untilPrinted(lines, 'NOT TAKEN  Nothing accepts connections there.'), {
      target: gone.url,
      isFromStart: true,
    });
  });

  test('reports why one did not arrive at the registered callback, and what follows', async () => {
    registered.respond = status(500, {}, 'out of order');
    const id = await tap();
    await eventually(async () => expect(await backend.eventsOf(id)).toMatchObject([{ attempts: 1 }]));
    await listen(
      (lines) => untilPrinted(lines, `NOT TAKEN  500  out of order  attempt 1 at ${registered.url}, next at 20`),
      {
        isFromStart: true,
      },
    );
    registered.respond = ok;
  });

  test('ends with a reason when its key is refused', async () => {
    const merchants = await installation.apiKey({ acquirerId: 1, integratorId: 10, merchantId: '1001' });
    await expect(listen(() => new Promise(() => {}), { apiKey: merchants })).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      reason: expect.stringContaining('403'),
    });
  });
});

describe('tapwire callback', () => {
  beforeEach(() => {
    // Vitest sets a variable of this name for itself.
    const environment = { BASE_URL: undefined, ...installation.environment() };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  /** Runs the command and returns what it printed. */
  async function callback(verb: string, integrator: string, ...words: string[]) {
    const output = vi.spyOn(console, 'log').mockImplementation(() => {});
    const notes = vi.spyOn(console, 'error').mockImplementation(() => {});
    expect(await run([verb, '--acquirer', '1', '--integrator', integrator, '--serves', 'links', ...words])).toBe(0);
    const said = [output, notes].map((spy) => spy.mock.calls.flat().join('\n'));
    vi.restoreAllMocks();
    return { output: said[0]!, notes: said[1]! };
  }

  test('sets the endpoint for links, with its own secret that is shown once, and removes it', async () => {
    expect((await callback('show', '10')).notes).toContain('No callback is set');
    expect((await callback('set', '10', local.url)).notes).toContain(`sent to ${local.url}.`);
    expect((await callback('secret', '10')).output).toMatch(/^whsec_\S+$/);
    expect((await backend.ask('GET', '/integrator/callbackUrl')).body).toEqual({ callbackUrl: registered.url });
    expect((await callback('show', '10')).output).toBe('');
    expect((await callback('off', '10')).notes).toContain('none are sent now');
    await expect(callback('off', '10')).rejects.toMatchObject({ reason: expect.stringContaining('has no callback') });
    const { rows } = await installation.database.query(
      `select actor, action, after from admin_events where kind = 'callback' order by id`,
    );
    const actor = expect.stringMatching(/^cli /);
    expect(rows).toMatchObject([
      { actor, action: 'add', after: { url: local.url } },
      { actor, action: 'change', after: { secret: 'replaced' } },
      { actor, action: 'change', after: { disabledAtMs: expect.any(Number) } },
    ]);
    expect(JSON.stringify(rows)).not.toContain('whsec_');
  });

  test('keeps a secret that still signs, unless one is compromised', async () => {
    await callback('set', '10', local.url);
    await callback('secret', '10', '--compromised');
    await callback('secret', '10');
    await expect(callback('secret', '10')).rejects.toMatchObject({ code: 'SECRET_OVERLAP_RUNNING' });
    expect((await callback('secret', '10', '--compromised')).output).toMatch(/^whsec_\S+$/);
  });

  test.each([
    [['set', '10', 'http://10.0.0.1/'], 'must lead to a public address'],
    [['set', '10'], 'URL: expected the address that receives the webhooks'],
    [['secret', '12'], 'This integrator has no callback'],
    [['show', 'ten'], '--integrator: expected a number'],
    [['show', '10', '--serves', 'taps'], '--serves: expected links'],
  ])('refuses %j', async ([verb, integrator, ...words], message) => {
    await expect(callback(verb!, integrator!, ...words)).rejects.toMatchObject({
      reason: expect.stringContaining(message),
    });
  });

  test('refuses an unknown integrator', async () => {
    await expect(callback('set', '77', 'http://localhost:3000/')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
