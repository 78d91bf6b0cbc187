import { Forbidden, invalidValue, MoneyError, NotFound, RequestRejected } from '../../basics/errors.ts';
import { readRequestedAmount } from '../decisions/admit.ts';
import { holdIfLost } from '../decisions/after-restore.ts';
import type { LinkKind, Mandate, NewLink } from '../model/link.ts';
import { type Currency, currencyOf } from '../model/money.ts';
import { TransactionType } from '../model/transaction.ts';
import type { Directory } from '../ports/directory-ports.ts';
import type { IntentTokens, LinkStore, RestoreHolds, Tenant } from '../ports/store-ports.ts';
import type { Clock } from '../ports/transaction-dependencies.ts';
import { drawQrCode } from './draw-qr-code.ts';

/** A request whose timestamp is older or further in the future is a replay, or its clock is wrong. */
const TIMESTAMP_WITHIN_MS = 24 * 60 * 60 * 1_000;

/** The services that creating links requires. */
export interface LinkServices {
  readonly links: Pick<LinkStore, 'create' | 'findCreated'>;
  readonly tokens: IntentTokens;
  readonly restoreHolds: RestoreHolds;
  readonly directory: Pick<Directory, 'lostWindow' | 'terminal'>;
  /** The merchants that a credential may act for. */
  readonly merchants: {
    findOwned(owner: Tenant, id: string): { integratorId: number; isBlocked: boolean } | undefined;
  };
  readonly clock: Pick<Clock, 'nowMs'>;
  /** A UUID v4. */
  readonly newId: () => string;
  readonly lifetimeMinutes: number;
  /** Base URL of the pay pages for phones, without a trailing slash. */
  readonly appUrl: () => string;
}

/** A mandate as requested, with amounts as decimal text in major units. */
export type MandateRequest = Omit<Mandate, 'instalmentMinor' | 'maxCollectionMinor'> & {
  readonly instalmentAmount: string;
  readonly maxCollectionAmount: string;
};

/** The request of a creator; amounts are decimal text in major units. */
export interface LinkRequest {
  readonly merchantId: string;
  readonly paymentReference: string;
  readonly amount: string;
  readonly currencyCode: string;
  /** ISO 8601; undefined if the request has no timestamp. */
  readonly timestamp?: string | undefined;
  readonly kind: LinkKind;
  readonly isConsumerApp: boolean;
  readonly xTid?: string | undefined;
  /** Makes the link a TT3. */
  readonly mandate?: MandateRequest | undefined;
  /** Side of the QR code in pixels; undefined for no QR code. */
  readonly qrCodeSize?: number | undefined;
  /** Identifies a request that may be repeated after its response was lost; null for one that is not. */
  readonly requestHash?: Uint8Array | null;
}

export interface CreatedLink {
  readonly link: NewLink;
  /** Gives any holder access to the link. */
  readonly token: string;
  /** The token follows the `#`, so no server and no log receives it. */
  readonly url: string;
  /** `data:image/png;base64,...` of the URL. */
  readonly qrCode: string | undefined;
}

/**
 * Creates a link or intent for a merchant of the caller.
 *
 * @throws NotFound for another tenant's merchant, Forbidden for a blocked one; RequestRejected (INVALID_VALUES with
 * a pointer to the invalid field, PAYMENT_REFERENCE_USED), Overloaded, HeldAfterRestore,
 * StoreUnavailable
 */
export async function createLink(services: LinkServices, owner: Tenant, wanted: LinkRequest): Promise<CreatedLink> {
  const merchant = services.merchants.findOwned(owner, wanted.merchantId);
  if (!merchant) throw new NotFound();
  if (merchant.isBlocked) throw new Forbidden('FORBIDDEN');
  const link = draftLink(services, { ...owner, integratorId: merchant.integratorId }, wanted);
  const created = await responseOf(services, link, wanted);
  const before = await holdIfLost(services, () => possiblyLost(link)).catch((error) => findOwn(services, link, error));
  if (before) return responseOf(services, before, wanted);
  // The commit is the last step, so that a response that cannot be built leaves no link.
  if ((await services.links.create(link)) === 'created') return created;
  // An earlier run of the same request may have created it, and have lost its response.
  const own = link.requestHash && (await services.links.findCreated(link, link.requestHash));
  if (!own) throw new RequestRejected('PAYMENT_REFERENCE_USED');
  return responseOf(services, own, wanted);
}

/** The link as a request that may repeat one whose record a restored database lacks. */
function possiblyLost({ acquirerId, merchantId, paymentReference: reference, amountMinor, currency }: NewLink) {
  const held = { acquirerId, merchantId, reference, kind: 'link', amountMinor, currency } as const;
  return { held, request: { kind: 'link' } } as const;
}

/** A repeat of a request that the database knows gets its response, also while other links are held. */
async function findOwn({ links }: Pick<LinkServices, 'links'>, link: NewLink, error: unknown): Promise<NewLink> {
  const own = link.requestHash && (await links.findCreated(link, link.requestHash));
  if (!own) throw error;
  return own;
}

async function responseOf(
  services: Pick<LinkServices, 'tokens' | 'appUrl'>,
  link: NewLink,
  { qrCodeSize }: Pick<LinkRequest, 'qrCodeSize'>,
): Promise<CreatedLink> {
  const token = await services.tokens.issue(link);
  const url = payUrl(services, link, token);
  return { link, token, url, qrCode: qrCodeSize === undefined ? undefined : drawQrCode(url, qrCodeSize) };
}

/** The URL that opens a link. The token follows the `#`, so no server and no log receives it. */
export function payUrl({ appUrl }: Pick<LinkServices, 'appUrl'>, { id }: Pick<NewLink, 'id'>, token: string): string {
  return `${appUrl()}/pay/${id}#${token}`;
}

function draftLink(
  services: LinkServices,
  { acquirerId, integratorId }: Tenant & { readonly integratorId: number },
  wanted: LinkRequest,
): NewLink {
  const nowMs = services.clock.nowMs();
  const { merchantId, paymentReference, kind, isConsumerApp, xTid = null, timestamp, mandate } = wanted;
  if (timestamp !== undefined && !(Math.abs(Date.parse(timestamp) - nowMs) <= TIMESTAMP_WITHIN_MS)) {
    throw invalidValue('timestamp', 'must be within 24 hours of the current time');
  }
  if (xTid !== null && !services.directory.terminal({ acquirerId, merchantId }, xTid))
    throw invalidValue('xTid', 'must be a terminal that the merchant may use');
  const currency = readCurrency(wanted.currencyCode);
  return {
    acquirerId,
    id: services.newId(),
    integratorId,
    merchantId,
    kind,
    type: mandate ? TransactionType.TT3 : TransactionType.Tap,
    paymentReference,
    amountMinor: readRequestedAmount('amount', wanted.amount, currency),
    currency: currency.code,
    isConsumerApp,
    xTid,
    mandate: mandate ? readMandate(mandate, currency) : null,
    expiresAtMs: nowMs + services.lifetimeMinutes * 60_000,
    requestHash: wanted.requestHash ?? null,
  };
}

function readMandate(
  { instalmentAmount, maxCollectionAmount, ...mandate }: MandateRequest,
  currency: Currency,
): Mandate {
  const instalmentMinor = readRequestedAmount('instalmentAmount', instalmentAmount, currency);
  const maxCollectionMinor = readRequestedAmount('maxCollectionAmount', maxCollectionAmount, currency);
  if (instalmentMinor > maxCollectionMinor)
    throw invalidValue('instalmentAmount', 'must not exceed maxCollectionAmount');
  return { ...mandate, instalmentMinor, maxCollectionMinor };
}

function readCurrency(code: string): Currency {
  try {
    return currencyOf(code);
  } catch (error) {
    if (error instanceof MoneyError) throw invalidValue('currencyCode', 'must be a currency code of ISO 4217');
    throw error;
  }
}
