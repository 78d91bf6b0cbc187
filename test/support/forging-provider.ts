import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** What the next ID token contains, besides valid values. */
export interface Forgery {
  readonly claims?: JWTPayload;
  /** Claims to leave out. */
  readonly without?: readonly string[];
  /** `stranger`: a key that the provider does not publish; `none`: no signature; `hmac`: the client secret. */
  readonly signedBy?: 'own' | 'stranger' | 'none' | 'hmac';
  /** Of the discovery document. */
  readonly metadata?: object;
  /** Replaces a response, to one that is wrong or never ends. */
  readonly respond?: (path: string, request: IncomingMessage, response: ServerResponse) => boolean;
}

const CLIENT_SECRET = 'a client secret of at least 32 bytes!';
export const FORGED_CLIENT = { id: 'console', secret: CLIENT_SECRET };

/** A provider that responds as a test wants: for what a correct provider never sends. */
export async function startForgingProvider() {
  const [own, stranger] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'RS256', use: 'sig' };
  let forgery: Forgery = {};
  let nonce = '';
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function idToken(): Promise<string> {
    const { claims = {}, without = [], signedBy = 'own' } = forgery;
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const valid = { iss: url, aud: FORGED_CLIENT.id, sub: 'thandi', nonce, groups: ['ops'], auth_time: nowSeconds };
    const all = { ...valid, iat: nowSeconds, exp: nowSeconds + 300, ...claims };
    const payload = Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)));
    if (signedBy === 'none') {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${part({ alg: 'none' })}.${part(payload)}.`;
    }
    const token = new SignJWT(payload);
    if (signedBy === 'hmac')
      return token.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(CLIENT_SECRET));
    const { privateKey } = signedBy === 'own' ? own : stranger;
    return token.setProtectedHeader({ alg: 'RS256', kid: 'own' }).sign(privateKey);
  }

  server.on('request', async (request, response) => {
    const path = new URL(request.url!, url).pathname;
    if (forgery.respond?.(path, request, response)) return;
    const responses: Record<string, () => unknown> = {
      '/.well-known/openid-configuration': () => ({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        ...forgery.metadata,
      }),
      '/jwks': () => ({ keys: [jwk] }),
      '/token': async () => ({ access_token: 'x', token_type: 'Bearer', id_token: await idToken() }),
      '/userinfo': () => ({ sub: 'sipho', groups: ['ops'] }),
    };
    const body = JSON.stringify((await responses[path]?.()) ?? {});
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });

  return {
    url,
    forge(next: Forgery, expectedNonce: string): void {
      forgery = next;
      nonce = expectedNonce;
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
