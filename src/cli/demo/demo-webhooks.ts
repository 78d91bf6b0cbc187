import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '#schemas/client';
import type { Webhook } from '#schemas/webhook';
import { authorizationOf, Phone } from '../../tools/phone/phone.ts';
import type { Profile } from '../../tools/phone/profile.ts';
import { verifyWebhook } from '../../webhooks/verify-webhook.ts';
import { bad, good } from '../style.ts';
import { SHORT_DEADLINE_TERMINAL } from './demo-installation.ts';

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
    const answer = await phone.tap(SILENT);
    const { type = `${answer.status}`, serviceReference = '' } = authorizationOf(answer) ?? {};
    const dispositions = await untilReceived(received, serviceReference, 2);
    this.#received = undefined;
    const isAsExpected = type === 'Indeterminate' && dispositions.join() === 'Indeterminate,Voided';
    const columns = ['tap        ZAR 10.69, no answer ', type, `         ${answer.ms.toFixed(0)} ms`];
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
