import { randomUUID } from 'node:crypto';
import { OutboundError, type OutboundErrorCode } from '../basics/errors.ts';
import type { Secret } from '../codecs/bytes/secret.ts';
import { type GuardedFetch, readCallbackUrl, URL_FAULTS, type UrlPolicy } from '../outbound/guarded-fetch.ts';
import type { WebhookOrigin } from '../payments/model/decision.ts';
import type { Clock } from '../payments/ports/transaction-dependencies.ts';
import type { Attempt, EndpointStore, Integrator, RegisteredCallback, SecretOverlap } from './ports.ts';
import { postWebhook } from './webhook-deliverer.ts';
import { createWebhookSecret, type SecretVault } from './webhook-signature.ts';

/** Receivers ignore types that they do not know. */
const TEST_TYPE = 'endpoint.test';

/** A secret that is shown now and never again. */
export interface IssuedSecret {
  readonly secret: Secret<string>;
  /** Time until which the previous secret also signs; null without one. */
  readonly previousEndsAtMs: number | null;
}

/**
 * Callback URLs for outcomes, and the secrets that sign them. Integrators register those for taps, the operator those
 * for links.
 */
export class CallbackRegistry {
  readonly #options;

  constructor(options: {
    readonly endpoints: EndpointStore;
    readonly vault: SecretVault;
    readonly policy: UrlPolicy;
    readonly clock: Clock;
    readonly fetcher: Pick<GuardedFetch, 'check' | 'request'>;
    /** Called for every change, so that this process uses it at once. */
    readonly onChange: () => Promise<void>;
  }) {
    this.#options = options;
  }

  /**
   * Registers a URL in place of any other, and enables an endpoint that was disabled. The name is looked up, so that
   * an unreachable one is refused here. Each connection is checked again.
   *
   * @returns what is wrong with the URL, as a phrase after its name; undefined if it was accepted
   */
  async register(owner: Integrator, serves: WebhookOrigin, text: string): Promise<string | undefined> {
    const { endpoints, vault, policy, fetcher, onChange } = this.#options;
    const url = readCallbackUrl(text, policy);
    if (typeof url === 'string') return URL_FAULTS[url];
    const fault = await fetcher.check(url).catch((error) => faultOf(error));
    if (fault) return fault;
    const id = randomUUID();
    const sealedSecret = vault.seal(id, createWebhookSecret());
    await endpoints.register({ ...owner, serves, url: url.href, id, sealedSecret });
    await onChange();
    return undefined;
  }

  find(owner: Integrator, serves: WebhookOrigin): Promise<RegisteredCallback | undefined> {
    return this.#options.endpoints.find(owner, serves);
  }

  /**
   * Sends a signed request of the type `endpoint.test`, which concerns no transaction. It is made once.
   *
   * @returns undefined if there is no endpoint
   */
  async test(owner: Integrator, serves: WebhookOrigin): Promise<Attempt | undefined> {
    const { endpoints, clock } = this.#options;
    const endpoint = await endpoints.findSigning(owner, serves);
    if (!endpoint) return undefined;
    const id = randomUUID();
    const body = JSON.stringify({ type: TEST_TYPE, timestamp: new Date(clock.nowMs()).toISOString(), id });
    return (await postWebhook(this.#options, { id, body, correlationId: null, endpoint }))?.attempt;
  }

  /** Stops further webhooks. False if there was no endpoint. */
  async disable(owner: Integrator, serves: WebhookOrigin): Promise<boolean> {
    return this.#options.endpoints.disable(owner, serves);
  }

  /** Undefined if there is no endpoint. */
  async issueSecret(
    owner: Integrator,
    serves: WebhookOrigin,
    overlap: SecretOverlap,
  ): Promise<IssuedSecret | undefined> {
    const { endpoints, vault } = this.#options;
    const endpoint = await endpoints.find(owner, serves);
    if (!endpoint) return undefined;
    const secret = createWebhookSecret();
    const key = { acquirerId: owner.acquirerId, id: endpoint.id };
    const previousEndsAtMs = await endpoints.replaceSecret(key, vault.seal(endpoint.id, secret), overlap);
    return { secret, previousEndsAtMs };
  }
}

const FAULTS: Readonly<Partial<Record<OutboundErrorCode, string>>> = {
  ADDRESS_REFUSED: URL_FAULTS.ADDRESS,
  NAME_NOT_FOUND: 'names a host without an address',
  NAME_LOOKUP_FAILED: 'names a host whose address could not be resolved; try again later',
};

function faultOf(error: unknown): string {
  const fault = error instanceof OutboundError ? FAULTS[error.code] : undefined;
  if (fault === undefined) throw error;
  return fault;
}
