import type { FastifyRequest } from 'fastify';
import { virtualPin, virtualReading, virtualTap } from '#schemas/pay-page';
import { NotFound } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { LinkFinder } from '../../payments/ports/store-ports.ts';
import type { RouteFacts } from '../route-table.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

type CardName = 'visa' | 'mastercard' | 'maestro' | 'amex';
type ReadValues = ReadonlyMap<number, Uint8Array>;

const FACTS = { section: 'extension', takes: ['intentToken'], isAsset: true } as const satisfies Partial<RouteFacts>;

/**
 * `dev` only: replaces the hardware that the virtual phone of a pay page lacks. It reads a test card for the amount
 * of the link, and enciphers a PIN. The page seals the values and submits them to the same endpoint as any phone.
 */
export function registerVirtualReaderRoutes(
  server: Server,
  options: {
    /** Sets `intent` of a request from the token of its link. */
    readonly identify: (request: FastifyRequest) => Promise<void>;
    readonly links: Pick<LinkFinder, 'find'>;
    readonly directory: Pick<Directory, 'merchant'>;
    /** A reader with test cards. */
    readonly reader: {
      read(card: CardName, payment: { amountMinor: number; currency: string; timeZone: string }): ReadValues;
      enterPin(card: CardName, pin: string): ReadValues;
    };
  },
): void {
  const { identify, links, directory, reader } = options;

  withZod(server).route({
    method: 'POST',
    url: '/dev/virtual-reader/tap',
    config: { facts: { ...FACTS, summary: 'Read a virtual test card' } },
    schema: { body: virtualTap, response: { 200: responseSchema(virtualReading) } },
    onRequest: identify,
    handler: async (request, reply) => {
      const link = await links.find(request.intent!);
      if (!link) throw new NotFound();
      reply.header('cache-control', 'no-store');
      const timeZone = directory.merchant(link.acquirerId, link.merchantId)?.timeZone ?? 'UTC';
      return readingOf(reader.read(request.body.card, { ...link, timeZone }));
    },
  });

  withZod(server).route({
    method: 'POST',
    url: '/dev/virtual-reader/pin',
    config: { facts: { ...FACTS, summary: 'Enter a PIN on the virtual reader' } },
    schema: { body: virtualPin, response: { 200: responseSchema(virtualReading) } },
    onRequest: identify,
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return readingOf(reader.enterPin(request.body.card, request.body.pin));
    },
  });
}

function readingOf(values: ReadValues) {
  return { values: Object.fromEntries(Array.from(values, ([tag, value]) => [hexOfTag(tag), toHex(value)])) };
}

/** Complete bytes in upper case. */
function hexOfTag(tag: number): string {
  const digits = tag.toString(16).toUpperCase();
  return digits.padStart(digits.length + (digits.length % 2), '0');
}
