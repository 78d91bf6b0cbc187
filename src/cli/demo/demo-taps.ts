import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Client, createClient } from '#schemas/client';
import type { Problem } from '#schemas/problem';
import type { Webhook } from '#schemas/webhook';
import { authorizationOf, Phone, type PhoneResponse } from '../../tools/phone/phone.ts';
import type { Profile } from '../../tools/phone/profile.ts';
import { verifyWebhook } from '../../webhooks/webhook-signature.ts';
import { bad, good, wrapTo } from '../output.ts';
import { type DemoType, demoTypeOf, SHORT_DEADLINE_TERMINAL } from './demo-installation.ts';

interface DemoTap {
  readonly title: string;
  /** The required result: `Approved 00`, `400 202`. */
  readonly expected: string;
  /** The switch that must have received the request. */
  readonly by?: DemoType;
  readonly tap: (phone: Phone) => Promise<PhoneResponse>;
}

const TAPS: readonly DemoTap[] = [
  {
    title: 'ZAR 10.00, Visa',
    expected: 'Approved 00',
    by: 'type-1',
    tap: (phone) => phone.tap({ amount: '10.00', currency: 'ZAR' }),
  },
  {
    title: 'ZAR 25.00, Mastercard',
    expected: 'Approved 00',
    by: 'type-2',
    tap: (phone) => phone.tap({ amount: '25.00', currency: 'ZAR', card: 'mastercard' }),
  },
  {
    title: 'ZAR 10.51, Amex',
    expected: 'Declined 51',
    by: 'type-1993',
    tap: (phone) => phone.tap({ amount: '10.51', currency: 'ZAR', card: 'amex' }),
  },
  {
    title: 'truncated card data',
    expected: '400 202',
    tap: async (phone) => {
      const sealed = await phone.seal({ amount: '10.00', currency: 'ZAR' });
      return phone.submit({
        ...sealed,
        merchantReference: randomUUID(),
        paymentCardData: sealed.paymentCardData.slice(0, -8),
      });
    },
  },
];

/** Submits the demo's taps and prints the statuses of each. @returns whether every result was as expected */
export async function submitDemoTaps(profile: Profile): Promise<boolean> {
  const phone = new Phone(profile);
  const client = createClient({ baseUrl: profile.url, credentials: { token: () => phone.token() } });
  let isAsExpected = true;
  for (const { title, expected, by, tap } of TAPS) {
    const response = await tap(phone);
    const askedSwitch = await switchAsked(client, response);
    const got = outcomeOf(response);
    const isRight = got === expected && askedSwitch === by;
    isAsExpected &&= isRight;
    const mark = isRight ? good('ok') : bad(`EXPECTED ${expected} ${by ?? ''}`);
    const columns = [
      title.padEnd(22),
      got.padEnd(11),
      (askedSwitch ?? '').padEnd(9),
      `${response.ms.toFixed(0)} ms`.padStart(7),
    ];
    console.log(`tap        ${columns.join('  ')}   ${mark}`);
    const { serviceReference } = authorizationOf(response) ?? {};
    if (serviceReference)
      console.log(wrapTo(process.stdout, `             ${await trailOf(client, serviceReference)}`, 13));
  }
  return isAsExpected;
}

/** Derived from the transaction's route; undefined for a tap that was refused before routing. */
async function switchAsked(client: Client, response: PhoneResponse): Promise<DemoType | undefined> {
  const { serviceReference } = authorizationOf(response) ?? {};
  if (serviceReference === undefined) return undefined;
  const { details } = await client.getTransaction({ params: { id: serviceReference } });
  return demoTypeOf(details.at(-1)?.paymentProviderId);
}

function outcomeOf(response: PhoneResponse): string {
  const authorization = authorizationOf(response);
  if (authorization === undefined) return `${response.status} ${(response.body as Problem).errorCode}`;
  return `${authorization.type} ${authorization.isoResponseCode}`.trim();
}

/** Statuses 8 and 9 are recorded shortly after the HTTP response was flushed. */
const RECORDED_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 50;

/** Each status with the milliseconds since the first: `RequestReceived 0 · …`. */
async function trailOf(client: Client, id: string): Promise<string> {
  const giveUpAtMs = performance.now() + RECORDED_WITHIN_MS;
  let events = await client.listEventsOfTransaction({ params: { id } });
  while (!events.some(({ to }) => to === 'RespondedToPhone') && performance.now() < giveUpAtMs) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    events = await client.listEventsOfTransaction({ params: { id } });
  }
  const startedAtMs = Date.parse(events[0]?.at ?? '');
  return events.map(({ to, at }) => `${to ?? ''} +${Date.parse(at) - startedAtMs} ms`).join(' · ');
}

/** The switch never responds to this amount. */
const SILENT = { amount: '10.69', currency: 'ZAR' } as const;
const TOLD_WITHIN_MS = 10_000;

/**
 * The integrator of a demo. It accepts every event while the demo runs, so that no delivery is retried. It reports
 * only events whose signature is valid.
 */
export class DemoReceiver {
  readonly #server = createServer((request, response) => {
    this.#take(request, response).catch(() => response.destroy()); // the gateway stopped during the delivery
  });
  /** Webhooks received since the demonstration began; undefined, and nothing is kept, before and after it. */
  #received: Webhook[] | undefined;
  #secret = '';

  async open(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Registers the receiver, which accepts every event from now on. */
  async listen(profile: Profile): Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    this.#secret = await listenAt(profile, new Phone(profile), `http://127.0.0.1:${port}/`);
  }

  /**
   * Shows that a silent switch leads to Indeterminate, and to Voided once the reversal is acknowledged, and that
   * the integrator receives a webhook for both.
   *
   * @returns whether both arrived
   */
  async demonstrate(profile: Profile): Promise<boolean> {
    const phone = new Phone({ ...profile, merchant: { ...profile.merchant, xTid: SHORT_DEADLINE_TERMINAL } });
    const received: Webhook[] = [];
    this.#received = received;
    await this.listen(profile);
    const response = await phone.tap(SILENT);
    const { type = `${response.status}`, serviceReference = '' } = authorizationOf(response) ?? {};
    const dispositions = await untilReceived(received, serviceReference, 2);
    this.#received = undefined;
    const isAsExpected = type === 'Indeterminate' && dispositions.join() === 'Indeterminate,Voided';
    const columns = ['tap        ZAR 10.69 no response', type, `         ${response.ms.toFixed(0)} ms`];
    console.log(`${columns.join('   ')}   ${isAsExpected ? good('ok') : bad('UNEXPECTED')}`);
    console.log(`             webhooks, signatures verified: ${dispositions.join(', then ')}`);
    return isAsExpected;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const verdict = verifyWebhook(this.#secret, { headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(verdict.isGenuine ? 204 : 401).end(verdict.isGenuine ? undefined : verdict.reason);
    if (verdict.isGenuine) this.#received?.push(verdict.event);
  }
}

/** Registers the receiver (4.9). @returns the secret that signs its webhooks */
async function listenAt({ url, apiKey }: Profile, phone: Phone, callbackUrl: string): Promise<string> {
  const client = createClient({ baseUrl: url, credentials: { apiKey, token: () => phone.token() } });
  await client.registerCallbackUrl({ body: { callbackUrl } });
  const { secret } = await client.makeSecretForWebhooks({ body: { overlapHours: 0 } });
  return secret;
}

/** Ordered by sequence, because the later event can arrive first. */
async function untilReceived(received: readonly Webhook[], serviceReference: string, count: number): Promise<string[]> {
  const giveUpAtMs = performance.now() + TOLD_WITHIN_MS;
  const ours = () => received.filter((event) => event.serviceReference === serviceReference);
  while (ours().length < count && performance.now() < giveUpAtMs)
    await new Promise((resolve) => setTimeout(resolve, 50));
  return ours()
    .toSorted((one, other) => one.sequence - other.sequence)
    .map(({ disposition }) => disposition);
}
