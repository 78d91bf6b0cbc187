import { randomUUID } from 'node:crypto';
import type { Secret } from '../bytes/secret.ts';
import { OutboundError, type OutboundErrorCode } from '../errors.ts';
import type { WebhookOrigin } from '../transactions/ports/directory-ports.ts';
import { readCallbackUrl, URL_FAULTS, type UrlPolicy } from './callback-url.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { EndpointStore, Integrator, RegisteredCallback } from './ports.ts';
import type { SecretVault } from './secret-vault.ts';
import { createWebhookSecret } from './webhook-secret.ts';

export interface CallbackRegistryOptions {
  readonly endpoints: EndpointStore;
  readonly vault: SecretVault;
  readonly policy: UrlPolicy;
  readonly fetcher: Pick<GuardedFetch, 'check'>;
  /** Told of every change, so that this process knows of it at once. */
  readonly onChange: () => Promise<void>;
}

/** A secret that is shown now and never again. */
export interface IssuedSecret {
  readonly secret: Secret<string>;
  /** Until then the one before signs, too. */
  readonly previousUntilMs: number | null;
}

/** Where integrators are told of outcomes, and what signs it: taps as they register it, links as the operator sets it. */
export class CallbackRegistry {
  readonly #options: CallbackRegistryOptions;

  constructor(options: CallbackRegistryOptions) {
    this.#options = options;
  }

  /**
   * Registers a URL, in the place of any other, and wakes an endpoint that was disabled. The name is looked up, so that what
   * can never be reached is refused here; each connection is checked again.
   *
   * @returns what is wrong with the URL, to be read after its name; undefined when it was taken
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

  /** Nothing more is sent there. False when nothing was. */
  async disable(owner: Integrator, serves: WebhookOrigin): Promise<boolean> {
    return this.#options.endpoints.disable(owner, serves);
  }

  /** Undefined when there is no endpoint. */
  async issueSecret(
    owner: Integrator,
    serves: WebhookOrigin,
    overlapSeconds: number,
  ): Promise<IssuedSecret | undefined> {
    const { endpoints, vault } = this.#options;
    const endpoint = await endpoints.find(owner, serves);
    if (!endpoint) return undefined;
    const secret = createWebhookSecret();
    const key = { acquirerId: owner.acquirerId, id: endpoint.id };
    const previousUntilMs = await endpoints.replaceSecret(key, vault.seal(endpoint.id, secret), overlapSeconds);
    return { secret, previousUntilMs };
  }
}

const FAULTS: Readonly<Partial<Record<OutboundErrorCode, string>>> = {
  ADDRESS_REFUSED: URL_FAULTS.ADDRESS,
  NAME_NOT_FOUND: 'names a host that has no address',
  NAME_LOOKUP_FAILED: 'names a host whose address could not be found out; try again later',
};

function faultOf(error: unknown): string {
  const fault = error instanceof OutboundError ? FAULTS[error.code] : undefined;
  if (fault === undefined) throw error;
  return fault;
}
