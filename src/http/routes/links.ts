import type { FastifyReply, FastifyRequest, preValidationAsyncHookHandler } from 'fastify';
import type { z } from 'zod';
import type { linkRequest, tt3LinkRequest } from '#schemas/link';
import { OPERATIONS } from '#schemas/operations';
import type { AppTokens } from '../../auth/tokens/app-tokens.ts';
import { bearerToken } from '../../auth/tokens/read-token.ts';
import { Forbidden, invalidValue, NotFound } from '../../basics/errors.ts';
import { type CreatedLink, createLink, type LinkServices } from '../../payments/links/create-link.ts';
import { acknowledgeLink, openLink } from '../../payments/links/link-lifecycle.ts';
import { LinkState, linkStateName } from '../../payments/model/link.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { LinkStore, Tenant } from '../../payments/ports/store-ports.ts';
import { type IdempotentRoute, type RouteGuards, requestHash } from '../idempotency.ts';
import { identifyLink, qrCodeDetailsOf } from '../links-view.ts';
import type { Credential, RouteFacts } from '../route-table.ts';
import type { Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';

/** Servers and people create payments, devices never do. */
const CREATORS: readonly Credential[] = ['acquirerKey', 'integratorKey', 'merchantKey', 'loginToken'];

/** Facts of every route that creates a payment. */
const CREATION = {
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
export function registerLinkRoutes(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  services: LinkServices,
): void {
  const creating = { ...idempotent, preValidation: refuseCallbackUrl };
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
    return linkResponseOf(created);
  };

  withZod(server).route({
    ...routeOf(OPERATIONS.createDeepLink, 200),
    config: {
      facts: {
        ...CREATION,
        summary: 'Create a deep link',
        section: '4.11',
        description: CREATE,
        deprecated: DEPRECATED,
      },
    },
    onRequest: identify,
    ...creating,
    handler: (request, reply) => create(request, reply, request.body),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.createApplink, 200),
    config: { facts: { ...CREATION, summary: 'Create an applink', section: '4.12', description: CREATE } },
    onRequest: identify,
    ...creating,
    handler: (request, reply) => create(request, reply, request.body),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.createTt3Applink, 200),
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
    onRequest: identify,
    ...creating,
    handler: (request, reply) => create(request, reply, request.body),
  });
}

/**
 * The URL that learns of links and intents is configured by the operator (4.10). Other unknown fields are ignored, but a
 * creator who sends this one would wait for webhooks in vain.
 */
const refuseCallbackUrl: preValidationAsyncHookHandler = async ({ body }) => {
  if (typeof body === 'object' && body !== null && 'callbackUrl' in body)
    throw invalidValue(
      'callbackUrl',
      'is not accepted here: the operator configures the callback URL of links and intents',
    );
};

type LinkBody = z.output<typeof linkRequest> | z.output<typeof tt3LinkRequest>;
type Tt3Fields = Omit<z.output<typeof tt3LinkRequest>, keyof z.output<typeof linkRequest>>;

/** Separates the additional fields of a TT3 from the payment. */
function withMandate<Body extends object>(body: Body | (Body & Tt3Fields)) {
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

function linkResponseOf({ link, url, qrCode }: CreatedLink) {
  return { url, reference: link.id, qrCode, expiresAt: new Date(link.expiresAtMs).toISOString() };
}

/** 4.13 and 4.14: intents, TT3 intents, and what an app needs to create intents itself (extensions). */
export function registerIntentRoutes(
  server: Server,
  { authenticator, idempotent, appTokens }: RouteGuards & { readonly appTokens: AppTokens },
  services: LinkServices,
  links: Pick<LinkStore, 'onlyMerchant'>,
): void {
  const creating = { ...idempotent, preValidation: refuseCallbackUrl };
  const identify = async (request: FastifyRequest) => {
    request.owner = await authenticator.creator(request.headers, 'payments:create');
  };

  withZod(server).route({
    ...routeOf(OPERATIONS.createIntentTransaction, 200),
    config: {
      facts: {
        ...CREATION,
        summary: 'Create an intent transaction',
        section: '4.13',
        description:
          'Creates a payment request that another app passes to the payment app. Refused with 409 while another open or ' +
          'paid link or intent of the merchant uses the paymentReference.',
      },
    },
    onRequest: identify,
    ...creating,
    handler: async (request, reply) =>
      intentResponseOf(await createLink(services, request.owner!, intentOf(request, request.body)), reply),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.createTt3IntentTransaction, 200),
    config: {
      facts: {
        ...CREATION,
        summary: 'Create a TT3 intent transaction',
        name: 'createTt3IntentTransaction',
        section: 'extension',
        description:
          'Creates an intent for a debit order mandate (TT3). The tap authenticates the card for the mandate and takes no money.',
      },
    },
    onRequest: identify,
    ...creating,
    handler: async (request, reply) =>
      intentResponseOf(await createLink(services, request.owner!, intentOf(request, withMandate(request.body))), reply),
  });

  registerSessionRoutes(server, idempotent, services, appTokens, links, identify);
}

/** An app that was built for intents displays them itself. */
function intentOf<Body extends object>(request: FastifyRequest, body: Body) {
  return { ...body, kind: 'intent', isConsumerApp: true, requestHash: requestHash(request) } as const;
}

function registerSessionRoutes(
  server: Server,
  idempotent: IdempotentRoute,
  services: LinkServices,
  appTokens: AppTokens,
  links: Pick<LinkStore, 'onlyMerchant'>,
  identify: (request: FastifyRequest) => Promise<void>,
): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.issueIntentSessionToken, 200),
    config: {
      facts: {
        ...CREATION,
        summary: 'Issue an intent session token',
        section: '4.14',
        under: 'auth',
        description:
          'Issues a token with which an app can create many intent transactions of one merchant. The body is optional; `merchantId` is required if the credential covers several merchants.',
        problems: { 400: [104], 404: [122] },
      },
    },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const { expiryMinutes, merchantId } = request.body;
      const session = {
        acquirerId: request.owner!.acquirerId,
        merchantId: await merchantOfSession(services, links, request.owner!, merchantId),
      };
      const token = await appTokens.issueSession(session, expiryMinutes);
      reply.header('cache-control', 'no-store');
      return { token, expiresAt: new Date(services.clock.nowMs() + expiryMinutes * 60_000).toISOString() };
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.createSessionIntentTransaction, 200),
    config: {
      facts: {
        summary: 'Create an intent with a session token',
        section: 'extension',
        takes: ['intentSessionToken'],
        description:
          'Creates an intent transaction for the merchant of the intent session token. The token cannot create links or TT3 payments.',
        problems: { 409: [124], 503: [203] },
      },
    },
    onRequest: async (request) => {
      request.session = await appTokens.openSession(bearerToken(request.headers.authorization));
    },
    ...idempotent,
    preValidation: refuseCallbackUrl,
    handler: async (request, reply) => {
      const { acquirerId, merchantId } = request.session!;
      const wanted = intentOf(request, { ...request.body, merchantId });
      return intentResponseOf(await createLink(services, { acquirerId, merchantId }, wanted), reply);
    },
  });
}

/** The merchant of a session: the one that the body names, or the only one that the credential covers. */
async function merchantOfSession(
  { merchants }: LinkServices,
  links: Pick<LinkStore, 'onlyMerchant'>,
  owner: Tenant,
  named: string | undefined,
): Promise<string> {
  const merchantId = named ?? (await links.onlyMerchant(owner));
  if (merchantId === undefined) {
    throw invalidValue('merchantId', 'is required because the credential covers several merchants');
  }
  const merchant = merchants.findOwned(owner, merchantId);
  if (!merchant) throw new NotFound();
  if (merchant.isBlocked) throw new Forbidden('FORBIDDEN');
  return merchantId;
}

function intentResponseOf({ link, token }: CreatedLink, reply: FastifyReply) {
  reply.header('cache-control', 'no-store');
  return { id: link.id, token, expiresAt: new Date(link.expiresAtMs).toISOString() };
}

const BY_TOKEN = { section: 'extension', takes: ['intentToken'] } as const satisfies Partial<RouteFacts>;

/** What a payment app does with its link or intent besides the tap (extensions). */
export function registerConsumerRoutes(
  server: Server,
  appTokens: AppTokens,
  links: LinkStore,
  directory: Directory,
): void {
  const identify = identifyLink(appTokens);

  withZod(server).route({
    ...routeOf(OPERATIONS.getLinkDetails, 200),
    config: {
      facts: {
        ...BY_TOKEN,
        summary: 'Get link or intent details',
        description:
          'Returns the payment details of a link or intent for the payment app. The qrCodeState becomes QRCodeScanned. Responds with 410 after the expiry.',
        problems: { 410: [118] },
      },
    },
    onRequest: identify,
    handler: async (request, reply) => {
      const opened = await openLink(links, request.intent!, request.params.id);
      reply.header('cache-control', 'no-store');
      const { acquirerId, merchantId } = opened.link;
      return qrCodeDetailsOf(opened, directory.merchant(acquirerId, merchantId));
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.acknowledgeLink, 200),
    config: {
      facts: {
        ...BY_TOKEN,
        summary: 'Report link progress',
        description:
          'Reports that the payment app reached a state of the link or intent. The state never moves backwards: an earlier state is accepted without effect.',
        problems: { 404: [122], 409: [134], 410: [118] },
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const { qrCodeId, status, transactionId } = request.body;
      const asked = { id: qrCodeId, state: LinkState[status], transactionId };
      const state = await acknowledgeLink(links, request.intent!, asked);
      return { qrCodeId, qrCodeState: linkStateName(state) };
    },
  });
}
