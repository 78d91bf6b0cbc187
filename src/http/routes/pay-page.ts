import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  type PayPageState,
  payPageLink,
  payPagePath,
  payPageQrCode,
  payPageQuery,
  payPageState,
} from '#schemas/pay-page';
import { bearerToken } from '../../auth/tokens/read-token.ts';
import { NotFound } from '../../basics/errors.ts';
import { type LinkServices, payUrl } from '../../payments/links/create-link.ts';
import { drawQrCode } from '../../payments/links/draw-qr-code.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import type { Link, Mandate } from '../../payments/model/link.ts';
import { type Currency, currencyOf, formatAmount } from '../../payments/model/money.ts';
import { type Transaction, TransactionType } from '../../payments/model/transaction.ts';
import type { Directory, MerchantRecord } from '../../payments/ports/directory-ports.ts';
import type { LinkStore } from '../../payments/ports/store-ports.ts';
import type { Clock } from '../../payments/ports/transaction-dependencies.ts';
import { linkStatusOf } from '../links-view.ts';
import { languageFor, type PayPageSettings, payPageFiles } from '../pay-page/page-files.ts';
import type { RouteFacts } from '../route-table.ts';
import { responseSchema, type Server } from '../server.ts';
import { pageHeaders, sendFile } from '../static-files.ts';
import { withZod } from '../with-zod.ts';

/** The state of a link that a customer may see. `tap` is the last transaction on the link. */
function payPageStateOf(
  link: Link,
  tap: Transaction | undefined,
  merchant: MerchantRecord | undefined,
  nowMs: number,
): PayPageState {
  const { qrCodeState, disposition, amount, currency, expired } = linkStatusOf(link, tap);
  const leftMs = link.isPast ? 0 : Math.max(0, link.expiresAtMs - nowMs);
  return {
    merchantName: merchant?.name ?? '',
    paymentReference: link.paymentReference,
    type: link.type === TransactionType.TT3 ? 'TT3' : 'Tap',
    amount,
    currency,
    isConsumerApp: link.isConsumerApp,
    qrCodeState,
    disposition,
    expired,
    cancelled: tap?.disposition === Disposition.Voided && link.isHeld,
    secondsLeft: Math.ceil(leftMs / 1_000),
    awaitsPin: disposition === null && tap !== undefined && (tap.pinExpiresAtMs ?? 0) > nowMs,
    waitedSeconds: waitedSeconds(tap, nowMs),
    ...(link.mandate && { mandate: termsOf(link.mandate, currencyOf(currency)) }),
  };
}

/** Since the bank was asked, so that a page that is opened later shows the same time. */
function waitedSeconds(tap: Transaction | undefined, nowMs: number): number {
  if (tap === undefined || tap.disposition !== null) return 0;
  return Math.max(0, Math.floor((nowMs - (tap.sentAtMs ?? tap.updatedAtMs)) / 1_000));
}

/** The amounts that the creditor wants shown, without data that names the customer. */
function termsOf(mandate: Mandate, currency: Currency): NonNullable<PayPageState['mandate']> {
  const { creditorABSN, collectionDay, contractReference, instalmentVisibility } = mandate;
  const instalment = { instalmentAmount: formatAmount(mandate.instalmentMinor, currency) };
  const maximum = { maxCollectionAmount: formatAmount(mandate.maxCollectionMinor, currency) };
  return {
    creditorABSN,
    collectionDay,
    contractReference,
    ...(instalmentVisibility !== 'maximumOnly' && instalment),
    ...(instalmentVisibility !== 'instalmentOnly' && maximum),
  };
}

export interface PayPageRoutesOptions {
  /** Sets `intent` of a request from the token of its link. */
  readonly identify: (request: FastifyRequest) => Promise<void>;
  readonly links: Pick<LinkStore, 'findOwned'>;
  readonly directory: Pick<Directory, 'merchant'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Base URL of pay pages for phones. */
  readonly services: Pick<LinkServices, 'appUrl'>;
  readonly settings: PayPageSettings;
}

/**
 * Side length in pixels: three for each module of a code with a token, so that it stays sharp on screens of any
 * density.
 */
const QR_CODE_PIXELS = 512;

/** No text can become markup on this page. QR codes are drawn into the page. */
const HEADERS = {
  ...pageHeaders({
    'img-src': "'self' data:",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  }),
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

const UUID = z.uuid();
const PART = { section: 'extension', takes: [], isAsset: true } as const satisfies Partial<RouteFacts>;
const BY_TOKEN = { section: 'extension', takes: ['intentToken'], isAsset: true } as const satisfies Partial<RouteFacts>;

/**
 * The page that a link opens, and its requests. The page is the same for every link and contains no link data. It
 * requests the data with the token behind the `#`, which browsers do not send to a server.
 */
export function registerPayPageRoutes(server: Server, options: PayPageRoutesOptions): void {
  registerPage(server, options.settings);
  registerQuestions(server, options);
}

function registerPage(server: Server, settings: PayPageSettings): void {
  const { pages, assets } = payPageFiles(settings);
  withZod(server).route({
    method: 'GET',
    url: '/pay/:reference',
    config: { facts: { ...PART, summary: 'Open a link' } },
    schema: { params: payPagePath, querystring: payPageQuery },
    handler: async (request, reply) => {
      reply.headers(HEADERS).code(UUID.safeParse(request.params.reference).success ? 200 : 404);
      const language = languageFor(request.headers['accept-language']);
      reply.header('vary', 'accept-language').header('content-language', language);
      return sendFile(request, reply, pages.get(language)!);
    },
  });

  for (const [name, file] of assets) {
    const config = { facts: { ...PART, summary: `Get ${name}` } };
    server.get(`/pay/assets/${name}`, { config }, async (request, reply) => sendFile(request, reply, file));
  }
}

function registerQuestions(
  server: Server,
  { identify, links, directory, clock, services }: PayPageRoutesOptions,
): void {
  /** The token opens one link. Every other link appears not to exist. */
  const find = async ({ intent }: FastifyRequest, reference: string) => {
    const found = reference === intent!.id ? await links.findOwned(intent!, reference) : undefined;
    if (!found) throw new NotFound();
    return found;
  };

  withZod(server).route({
    method: 'GET',
    url: '/pay/:reference/state',
    config: { facts: { ...BY_TOKEN, summary: 'Get the state of a pay page', problems: { 410: [118] } } },
    schema: { params: payPageLink, response: { 200: responseSchema(payPageState) } },
    onRequest: identify,
    handler: async (request, reply) => {
      const { link, tap } = await find(request, request.params.reference);
      reply.header('cache-control', 'no-store');
      return payPageStateOf(link, tap, directory.merchant(link.acquirerId, link.merchantId), clock.nowMs());
    },
  });

  withZod(server).route({
    method: 'GET',
    url: '/pay/:reference/qr-code',
    config: { facts: { ...BY_TOKEN, summary: 'Get the QR code of a pay page', problems: { 410: [118] } } },
    schema: { params: payPageLink, response: { 200: responseSchema(payPageQrCode) } },
    onRequest: identify,
    handler: async (request, reply) => {
      const { link } = await find(request, request.params.reference);
      reply.header('cache-control', 'no-store');
      return { qrCode: drawQrCode(payUrl(services, link, bearerToken(request.headers.authorization)), QR_CODE_PIXELS) };
    },
  });
}
