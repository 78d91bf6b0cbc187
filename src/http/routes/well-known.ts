import { cardDataKeySet } from '#schemas/card-data';
import type { KeyRing } from '../../card/key-ring.ts';
import { answerSchema, type Server } from '../server.ts';

/** A rotation overlaps by weeks; readers may keep the answer for an hour. */
const CACHE = 'public, max-age=3600';

/** The public keys that readers seal card data for (extension). */
export function registerWellKnownRoutes(server: Server, keys: Pick<KeyRing, 'publicCardDataKeys'>): void {
  server.get(
    '/.well-known/card-data-keys.json',
    {
      config: {
        facts: {
          summary: 'Get the card data keys',
          section: 'extension',
          takes: [],
          description:
            'Public keys that readers seal card data for, the newest first. During a rotation both are there.',
        },
      },
      schema: { response: { 200: answerSchema(cardDataKeySet) } },
    },
    async (_request, reply) => {
      reply.header('cache-control', CACHE);
      return keys.publicCardDataKeys(Date.now());
    },
  );
}
