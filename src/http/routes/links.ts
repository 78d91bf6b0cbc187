import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { linkAnswer, linkRequest, tt3LinkRequest } from '#schemas/link';
import type { Authenticator } from '../../auth/authenticator.ts';
import { type CreatedLink, createLink, type LinkServices } from '../../payments/links/create-link.ts';
import { type IdempotentRoute, requestHash } from '../idempotency.ts';
import type { Credential, RouteFacts } from '../route-facts.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface LinkRoutesOptions {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
  readonly services: LinkServices;
}

/** Servers and people create payments, devices never do. */
const CREATORS: readonly Credential[] = ['acquirerKey', 'integratorKey', 'merchantKey', 'loginToken'];

/** Facts of every route that creates a payment. */
export const CREATION = {
  takes: CREATORS,
  scope: 'payments:create',
  problems: { 404: [122], 409: [124], 503: [203] },
} as const satisfies Partial<RouteFacts>;

/** 4.12 replaced 4.11 in version 4.0 of the interface. */
const DEPRECATED = { since: '2026-01-01', successor: '/consumer/applink' };

const CREATE =
  'Creates a link: a URL that opens the payment app, and on request a QR code of the URL. Refused with 409 while another open ' +
  'or paid link or intent of the merchant uses the paymentReference. The reference of an expired link is available again.';

/** 4.11 and 4.12: links, as a URL or a QR code; TT3 links (extension). */
export function registerLinkRoutes(server: Server, { authenticator, idempotent, services }: LinkRoutesOptions): void {
  // Runs before the body is read: only the headers of an unknown caller are read.
  const identify = async (request: FastifyRequest) => {
    request.owner = await authenticator.creator(request.headers, 'payments:create');
  };
  const create = async (request: FastifyRequest, reply: FastifyReply, body: LinkBody) => {
    const { image, ...wanted } = body;
    const qrCodeSize = image.required ? image.size : undefined;
    const { mandate, ...payment } = withMandate(wanted);
    const created = await createLink(services, request.owner!, {
      ...{ ...payment, mandate, kind: 'link', qrCodeSize },
      requestHash: requestHash(request),
    });
    reply.header('cache-control', 'no-store');
    return linkAnswerOf(created);
  };
  const schema = { body: linkRequest, response: { 200: answerSchema(linkAnswer) } };

  withZod(server).route({
    method: 'POST',
    url: '/consumer/qrCode',
    config: {
      facts: {
        ...CREATION,
        summary: 'Create a deep link',
        section: '4.11',
        description: CREATE,
        deprecated: DEPRECATED,
      },
    },
    schema,
    onRequest: identify,
    ...idempotent,
    handler: (request, reply) => create(request, reply, request.body),
  });

  withZod(server).route({
    method: 'POST',
    url: '/consumer/applink',
    config: { facts: { ...CREATION, summary: 'Create an applink', section: '4.12', description: CREATE } },
    schema,
    onRequest: identify,
    ...idempotent,
    handler: (request, reply) => create(request, reply, request.body),
  });

  withZod(server).route({
    method: 'POST',
    url: '/consumer/tt3Applink',
    config: {
      facts: {
        ...CREATION,
        summary: 'Create a TT3 applink',
        name: 'createTt3Applink',
        section: 'extension',
        description:
          'Creates a link for a debit order mandate (TT3). The tap authenticates the card for the mandate and takes no money.',
      },
    },
    schema: { body: tt3LinkRequest, response: { 200: answerSchema(linkAnswer) } },
    onRequest: identify,
    ...idempotent,
    handler: (request, reply) => create(request, reply, request.body),
  });
}

type LinkBody = z.output<typeof linkRequest> | z.output<typeof tt3LinkRequest>;
type Tt3Fields = Omit<z.output<typeof tt3LinkRequest>, keyof z.output<typeof linkRequest>>;

/** Separates the additional fields of a TT3 from the payment. */
export function withMandate<Body extends object>(body: Body | (Body & Tt3Fields)) {
  if (!('collectionDay' in body)) return { ...body, mandate: undefined };
  const {
    collectionDay,
    creditorABSN,
    accountNumber,
    idNumber,
    instalmentAmount,
    instalmentVisibility,
    maxCollectionAmount,
    contractReference,
    ...payment
  } = body;
  const amounts = { instalmentAmount, instalmentVisibility, maxCollectionAmount };
  return {
    ...payment,
    mandate: { collectionDay, creditorABSN, accountNumber, idNumber, ...amounts, contractReference },
  };
}

function linkAnswerOf({ link, url, qrCode }: CreatedLink) {
  return { url, reference: link.id, qrCode, expiresAt: new Date(link.expiresAtMs).toISOString() };
}
