import { afterAll, beforeAll, expect, test } from 'vitest';
import { SAMPLE_CARDS } from '../../src/card/sample-tap.ts';
import { Phone, type PhoneTap } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { postTap, request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { everythingStored, type SecretMark, secretsIn } from '../support/secrets.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none' });
});
afterAll(() => installation.stop());

const CARD = 'mastercard';
const { pan } = SAMPLE_CARDS[CARD];
const CARD_MARKS: readonly SecretMark[] = [
  { name: 'PAN', text: pan },
  { name: 'track 2', text: `${pan}D3112201` },
  { name: 'track 2 with =', text: `${pan}=3112201` },
  { name: 'end of track 2', text: 'D31122010000000000' },
];

/**
 * The credentials of a phone and of a client that reads lists: the token's signature and the key's secret are the
 * sensitive parts.
 */
async function credentialMarks(phone: Phone, apiKey: string): Promise<SecretMark[]> {
  const token = await phone.token();
  return [
    { name: 'JWT', text: token.split('.').slice(0, 2).join('.') },
    { name: 'signature of the JWT', text: token.split('.')[2]! },
    { name: 'secret of the API key', text: apiKey.split('_')[3]! },
  ];
}

const TAPS: readonly (readonly [amount: string, tamper?: PhoneTap['tamper']])[] = [
  ['10.00'],
  ['10.51'],
  ['10.69'],
  ['10.97'],
  ['10.88'],
  ['10.30'],
  ['10.00', (values) => values.set(0x9f27, Uint8Array.of(0))],
  ['10.00', (values) => values.set(0x9f27, Uint8Array.of(0x40))],
  ['10.00', (values) => values.set(0x5a, Buffer.from('4111111111111111', 'hex'))],
  ['10.00', (values) => values.set(0x9f26, Uint8Array.of(1))],
  ['10.00', (values) => values.delete(0x9f02)],
];

/** Sends the secrets to every route, including failures, and returns all responses. */
async function takeThroughRoutes(url: string, phone: Phone, apiKey: string): Promise<string> {
  const responses: unknown[] = [];
  const track2 = Buffer.from(`57 11 ${pan}D3112201 0000000000F`.replaceAll(' ', ''), 'hex');
  for (const [amount, tamper] of TAPS) responses.push(await phone.tap({ amount, currency: 'ZAR', card: CARD, tamper }));
  const sealed = await phone.seal({ amount: '10.00', currency: 'ZAR', card: CARD });
  const bare = { ...sealed, paymentCardData: track2.toString('base64') };
  for (const body of [bare, { ...bare, generalCardData: pan }, `{"paymentCardData":"${pan}"`, { pan }, [pan]]) {
    responses.push(await postTap(url, phone, sealed, { body }));
  }
  for (const headers of [{ authorization: `Bearer ${await phone.token()}x` }, { 'content-type': `text/${pan}` }]) {
    responses.push(await postTap(url, phone, sealed, { headers }));
  }
  const keyed = { headers: { 'x-api-key': apiKey } };
  for (const path of [
    '/transactions',
    `/transactions?limit=1&card=${pan}`,
    '/readyz',
    '/.well-known/card-data-keys.json',
  ]) {
    responses.push(await request(url, path, keyed));
  }
  responses.push(await request(url, '/transactions', { headers: { 'x-api-key': `${apiKey}0` } }));
  for (const { serviceReference } of responses.flatMap((response) => processed(response))) {
    responses.push(await request(url, `/transactions/${serviceReference}`, keyed));
    responses.push(await request(url, `/transactions/${serviceReference}/events`, keyed));
  }
  return responses.map(textOfResponse).join('\n');
}

function processed(response: unknown): { serviceReference: string }[] {
  const { body } = response as { body: { onlineAuthorizationResponse?: { serviceReference: string } } };
  return body?.onlineAuthorizationResponse ? [body.onlineAuthorizationResponse] : [];
}

function textOfResponse(response: unknown): string {
  const { body, headers } = response as { body: unknown; headers?: Headers };
  return JSON.stringify([body, [...(headers ?? [])]]);
}

test('the search finds its secrets, in every encoding', () => {
  const token = 'eyJhbGciOiJFUzI1NiJ9.e30';
  const marks = [...CARD_MARKS, { name: 'JWT', text: token }];
  const bytes = Buffer.from(pan, 'latin1');
  const inside = (value: Buffer, before: number) => Buffer.concat([Buffer.alloc(before, 7), value, Buffer.alloc(4, 9)]);
  for (const before of [0, 1, 2, 3]) {
    expect(secretsIn(inside(bytes, before).toString('base64'), marks)).toContain('PAN');
    expect(secretsIn(inside(Buffer.from(pan, 'hex'), before).toString('base64'), marks)).toContain('PAN');
  }
  expect(secretsIn(`x${pan}x`, marks)).toEqual(['PAN']);
  expect(secretsIn(bytes.toString('hex').toUpperCase(), marks)).toEqual(['PAN']);
  expect(secretsIn(`"${token}.x"`, marks)).toEqual(['JWT']);
  expect(secretsIn('541333******0640', marks)).toEqual([]);
});

test('card data and credentials sent to every route are in no log line, column, job or response', async () => {
  const { database } = installation;
  const gateway = await GatewayProcess.start(installation, 'all', { LOG_LEVEL: 'trace' });
  const phone = new Phone(installation.profile('coffee', gateway.url));
  const apiKey = await installation.apiKey();
  const marks = [...CARD_MARKS, ...(await credentialMarks(phone, apiKey))];

  const responses = await takeThroughRoutes(gateway.url, phone, apiKey);
  // While some responses wait to be recorded and reversals to be sent, and later.
  const stored = await everythingStored(database);
  expect((await gateway.kill('SIGTERM')).exitCode).toBe(0);
  const storedInTheEnd = await everythingStored(database);

  for (const text of [stored, storedInTheEnd, responses]) expect(text).toContain('541333******0640');
  expect(gateway.output).toContain('"msg":"responded"');
  expect(secretsIn(gateway.output, marks), 'log').toEqual([]);
  expect(secretsIn(stored, marks), 'database').toEqual([]);
  expect(secretsIn(storedInTheEnd, marks), 'database').toEqual([]);
  expect(secretsIn(responses, marks), 'responses').toEqual([]);
});

test('a tap between an api process and a worker is sealed in the row and in no log line', async () => {
  const { database } = installation;
  const worker = await GatewayProcess.start(installation, 'worker', { LOG_LEVEL: 'trace' });
  const api = await GatewayProcess.start(installation, 'api', { LOG_LEVEL: 'trace' });
  const phone = new Phone(installation.profile('bakery', api.url));
  const apiKey = await installation.apiKey();
  const marks = [...CARD_MARKS, ...(await credentialMarks(phone, apiKey))];
  await eventually(async () => {
    const response = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR', card: CARD }));
    expect(response.type).toBe('Approved');
  });
  await worker.kill('SIGKILL');
  const waiting = phone.tap({ amount: '10.00', currency: 'ZAR', card: CARD }).catch(() => undefined);
  const stored = await eventually(async () => {
    const { rows } = await database.query('select handover from transactions where handover is not null');
    expect(rows).toHaveLength(1);
    return everythingStored(database);
  });
  await api.kill('SIGKILL');
  await waiting;
  expect(stored).toContain('541333******0640');
  expect(secretsIn(stored, marks), 'database').toEqual([]);
  expect(secretsIn(worker.output + api.output, marks), 'logs').toEqual([]);
});
