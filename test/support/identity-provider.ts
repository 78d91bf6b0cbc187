import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Interaction {
  readonly prompt: { readonly name: string; readonly details: { readonly missingOIDCScope?: string[] } };
  readonly params: { readonly client_id: string };
  readonly session?: { readonly accountId: string };
}

/** The parts of oidc-provider that are used here; the package contains no types. */
interface Provider {
  readonly Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
}
const PACKAGE: string = 'oidc-provider';
const { Provider } = (await import(PACKAGE)) as { Provider: new (issuer: string, configuration: object) => Provider };

export const CLIENT = { id: 'tapwire-console', secret: 'console-secret-of-tests' };

export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * A certified OpenID provider on a loopback port. It asks nothing: the person in `person` signs in at once, or turns back
 * if it is undefined.
 */
export class IdentityProvider {
  readonly url: string;
  person: Person | undefined;
  readonly #server: ReturnType<typeof createServer>;
  readonly #redirectUrls: string[];

  private constructor(url: string, server: ReturnType<typeof createServer>, redirectUrls: string[]) {
    this.url = url;
    this.#server = server;
    this.#redirectUrls = redirectUrls;
  }

  static async start(): Promise<IdentityProvider> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const redirectUrls: string[] = [];
    const own = new IdentityProvider(url, server, redirectUrls);
    let provider: { readonly at: string; readonly respond: ReturnType<Provider['callback']>; readonly of: Provider };
    server.on('request', (request, response) => {
      // Gateways choose their ports after the provider has started, so it is made again for each new address.
      if (provider?.at !== redirectUrls.join()) {
        const of = new Provider(url, configurationOf(own, redirectUrls));
        provider = { at: redirectUrls.join(), of, respond: of.callback() };
      }
      if (request.url!.startsWith('/interaction/')) void interact(provider.of, own.person, request, response);
      else provider.respond(request, response);
    });
    return own;
  }

  /** Registers the callback of a gateway. */
  admit(gatewayUrl: string): void {
    this.#redirectUrls.push(new URL('/ops/oidc/callback', gatewayUrl).href);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const JWK = { ...privateKey.export({ format: 'jwk' }), kid: 'tests', use: 'sig', alg: 'RS256' };
const COOKIE_KEY = randomBytes(16).toString('hex');

function configurationOf(own: IdentityProvider, redirectUrls: readonly string[]): object {
  const client = {
    ...{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [...redirectUrls] },
    post_logout_redirect_uris: redirectUrls.map((url) => new URL('/ops', url).href),
  };
  return {
    clients: [client],
    jwks: { keys: [JWK] },
    cookies: { keys: [COOKIE_KEY] },
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: own.person?.name, groups: own.person?.groups }),
    }),
    ttl: { Session: 3_600, Interaction: 3_600, Grant: 3_600, AccessToken: 3_600, IdToken: 3_600 },
  };
}

async function interact(
  provider: Provider,
  person: Person | undefined,
  ...[request, response]: Parameters<Provider['interactionDetails']>
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (person === undefined) return provider.interactionFinished(request, response, { error: 'access_denied' });
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: person.subject } });
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(' '));
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}
