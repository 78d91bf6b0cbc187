import { execFile } from 'node:child_process';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { Backend } from '../webhooks/backend.ts';
import { type Received, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type GeneratedClients, generateClients, type Program } from './generate-clients.ts';

/** Cents get lost in numbers of 32 bits. */
const AMOUNT = '1234567.89';
const REFUND = '234567.89';

let installation: Installation;
let receiver: Receiver;
let clients: GeneratedClients;
let secret: string;
beforeAll(async () => {
  [clients, installation, receiver] = await Promise.all([generateClients(), startInstallation(), startReceiver()]);
  secret = await (await Backend.open(installation)).listenAt(receiver.url);
});
afterAll(async () => {
  clients.remove();
  await installation.stop();
  await receiver.close();
});

/** What a program prints on one line. @throws Error with its other output if it fails */
function run([command, ...args]: Program, settings: NodeJS.ProcessEnv, input: string | Buffer = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const { PATH, HOME, PYTHONPATH } = process.env;
    const child = execFile(command, args, { env: { PATH, HOME, PYTHONPATH, ...settings } }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout.trim()),
    );
    child.stdin!.end(input);
  });
}

/** The settings that carry a webhook; its body is the input. */
function settingsOf({ headers }: Pick<Received, 'headers'>): NodeJS.ProcessEnv {
  const names = ['id', 'timestamp', 'signature'] as const;
  const carried = names.map((name) => [`WEBHOOK_${name.toUpperCase()}`, headers[`webhook-${name}`]]);
  return { WEBHOOK_SECRET: secret, ...Object.fromEntries(carried) };
}

describe.each(['java', 'go', 'python'] as const)('the client that was generated for %s', (language) => {
  test('submits a tap and a refund, and checks and reads their webhooks', async ({ skip }) => {
    const program = clients.programs[language] ?? skip(`no toolchain: ${clients.missing}`);
    const phone = installation.phone();
    const { deviceInstallationId, ...sealed } = await phone.seal({ amount: AMOUNT, currency: 'ZAR' });
    const reference = sealed.merchantReference;
    const paid = await run([...program, 'pay'], {
      GATEWAY: installation.url,
      TOKEN: await phone.token(),
      API_KEY: await installation.apiKey(),
      DEVICE: deviceInstallationId,
      REFERENCE: reference,
      GENERAL: sealed.generalCardData,
      PAYMENT: sealed.paymentCardData,
      REFUND,
    });
    expect(paid).toBe(`Approved 123456789 Approved ${REFUND}`);

    const [sale, refund] = await eventually(() => {
      const received = [reference, `${reference}-refund`].map((name) =>
        receiver.received.find(({ body }) => body.includes(`"merchantReference":"${name}"`)),
      );
      expect(received).not.toContain(undefined);
      return received as [Received, Received];
    });
    const check = (event: Pick<Received, 'headers'>, body: string | Buffer) =>
      run([...program, 'webhook'], settingsOf(event), body);
    expect(await check(sale, sale.body)).toBe('transaction.completed Approved 123456789 ZAR');
    expect(await check(refund, refund.body)).toBe('refund.completed Approved 23456789 ZAR');
    expect(await check(sale, sale.body.toString().replace('ZAR', 'EUR'))).toBe('refused');

    // Clients must tolerate new fields (interface 9).
    const later = JSON.stringify({ ...JSON.parse(sale.body.toString()), addedLater: { any: [1] } });
    const at = new Date();
    const signature = new Webhook(secret).sign('evt', at, later);
    const headers = {
      'webhook-id': 'evt',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': signature,
    };
    expect(await check({ headers }, later)).toBe('transaction.completed Approved 123456789 ZAR');
  });
});

test('the sample of a kernel seals the values of a card with a library for JWE, and pays', async () => {
  const token = await signMerchantToken(installation.profile(), { acquirerId: 1 });
  const settings = { GATEWAY: installation.url, TOKEN: token, AMOUNT: '1000' };
  const [status, ...body] = (await run(clients.programs.kernel, settings)).split(' ');
  expect(status).toBe('200');
  expect(JSON.parse(body.join(' '))).toMatchObject({
    onlineAuthorizationResponse: { type: 'Approved', amountMinor: 1_000, currency: 'ZAR', cardScheme: 'Visa' },
  });
});
