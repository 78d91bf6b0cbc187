import { expect } from 'vitest';
import type { Webhook, WebhookAttemptView, WebhookEventView } from '../../schemas/webhook.ts';
import { verifyWebhook } from '../../src/webhooks/webhook-signature.ts';
import { eventually } from '../support/eventually.ts';
import type { Installation } from '../support/installation.ts';
import { MERCHANTS, type MerchantName } from '../support/tenants.ts';
import type { Received, Receiver } from './receiver.ts';

export interface BackendResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/**
 * An integrator's backend, which manages its webhooks with its API key and with tokens that it signs for a merchant.
 */
export class Backend {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(url: string, headers: Record<string, string>) {
    this.#url = url;
    this.#headers = headers;
  }

  static async open(installation: Installation, merchant: MerchantName = 'coffee'): Promise<Backend> {
    const { acquirerId, integratorId } = MERCHANTS[merchant];
    return new Backend(installation.url, {
      'x-api-key': await installation.apiKey({ acquirerId, integratorId }),
      authorization: `Bearer ${await installation.phone(merchant).token()}`,
    });
  }

  async ask(method: 'GET' | 'POST', path: string, body?: unknown, headers = this.#headers): Promise<BackendResponse> {
    const response = await fetch(new URL(path, this.#url), {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json(), headers: response.headers };
  }

  /** Registers a URL and returns the secret that signs what is sent there. */
  async listenAt(url: string): Promise<string> {
    expect(await this.register(url)).toMatchObject({ status: 200, body: {} });
    return this.issueSecret({ overlapHours: 0, isCompromised: true }); // tests that share an installation follow each other within the overlap
  }

  register(callbackUrl: unknown): Promise<BackendResponse> {
    return this.ask('POST', '/integrator/callbackUrl', { callbackUrl });
  }

  async issueSecret(body?: { overlapHours: number; isCompromised?: boolean }): Promise<string> {
    const response = await this.ask('POST', '/integrator/callbackUrl/secret', body);
    expect(response.status).toBe(200);
    return (response.body as { secret: string }).secret;
  }

  async events(query = ''): Promise<WebhookEventView[]> {
    const response = await this.ask('GET', `/integrator/events${query}`);
    expect(response.status).toBe(200);
    return response.body as WebhookEventView[];
  }

  /** Of one transaction, ordered by sequence. */
  async eventsOf(serviceReference: string): Promise<WebhookEventView[]> {
    const events = await this.events(`?serviceReference=${serviceReference}`);
    return events.sort((one, other) => one.payload.sequence - other.payload.sequence);
  }

  async attempts(eventId: string): Promise<WebhookAttemptView[]> {
    const response = await this.ask('GET', `/integrator/events/${eventId}/attempts`);
    expect(response.status).toBe(200);
    return response.body as WebhookAttemptView[];
  }
}

/** The webhooks that a receiver got of a transaction, in order. @throws if one of them is not genuine */
export function genuine(receiver: Receiver, secret: string, serviceReference: string): Webhook[] {
  return receiver.received
    .filter(({ body }) => body.includes(`"serviceReference":"${serviceReference}"`))
    .map((received) => verifiedEvent(received, secret));
}

/** @throws if it is not genuine */
export function verifiedEvent(received: Received, secret: string): Webhook {
  const verdict = verifyWebhook(secret, received);
  if (!verdict.isGenuine) throw new Error(verdict.reason);
  return verdict.event;
}

/** Waits until a receiver has got `count` webhooks of a transaction. */
export function untilReported(
  receiver: Receiver,
  secret: string,
  serviceReference: string,
  count = 1,
): Promise<Webhook[]> {
  return eventually(() => {
    const events = genuine(receiver, secret, serviceReference);
    expect(events).toHaveLength(count);
    return events;
  });
}
