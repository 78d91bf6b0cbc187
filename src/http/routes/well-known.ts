import { cardDataKeySet } from '#schemas/card-data';
import { type TokenKeySet, tokenKeySet } from '#schemas/key-set';
import type { KeyRing, TokenSigningKey } from '../../card/key-ring.ts';
import { responseSchema, type Server } from '../server.ts';

/** Old and new key overlap by weeks, so readers may keep the response for an hour. */
const CARD_DATA_CACHE = 'public, max-age=3600';
/** A new key signs at once. A verifier that meets an unknown kid fetches the keys again. */
const TOKEN_CACHE = 'public, max-age=300';

/** Public keys (extensions): keys for which readers seal card data, and keys that verify the gateway's tokens. */
export function registerWellKnownRoutes(
  server: Server,
  keys: Pick<KeyRing, 'publicCardDataKeys' | 'tokenSigning'>,
): void {
  server.get(
    '/.well-known/card-data-keys.json',
    {
      config: {
        facts: {
          summary: 'Get the card data keys',
          section: 'extension',
          takes: [],
          description:
            'Lists the public keys for the encryption of card data, newest first. During a key rotation, the list contains both keys.',
        },
      },
      schema: { response: { 200: responseSchema(cardDataKeySet) } },
    },
    async (_request, reply) => {
      reply.header('cache-control', CARD_DATA_CACHE);
      return keys.publicCardDataKeys(Date.now());
    },
  );
  server.get(
    '/.well-known/jwks.json',
    {
      config: {
        facts: {
          summary: 'Get the token keys',
          section: 'extension',
          takes: [],
          description: 'Lists the public keys that verify the tokens of the gateway, newest first (RFC 7517).',
          mediaType: 'application/jwk-set+json',
        },
      },
      schema: { response: { 200: responseSchema(tokenKeySet) } },
    },
    async (_request, reply) => {
      reply.header('cache-control', TOKEN_CACHE).type('application/jwk-set+json');
      return { keys: keys.tokenSigning.map(publicJwk) };
    },
  );
}

/** The coordinates of a P-256 key only. */
function publicJwk({ kid, publicKey }: TokenSigningKey): TokenKeySet['keys'][number] {
  const { x, y } = publicKey.export({ format: 'jwk' }) as { readonly x: string; readonly y: string };
  return { kty: 'EC', crv: 'P-256', x, y, kid, use: 'sig', alg: 'ES256' };
}
