import { crc32, deflateSync } from 'node:zlib';
import QRCode from 'qrcode';
import { Forbidden, invalidValue, MoneyError, NotFound, RequestRejected } from '../../basics/errors.ts';
import { readRequestedAmount } from '../decisions/admit.ts';
import { holdIfLost } from '../decisions/after-restore.ts';
import type { LinkKind, Mandate, NewLink } from '../model/link.ts';
import { type Currency, currencyOf } from '../model/money.ts';
import { TransactionType } from '../model/transaction.ts';
import type { Directory } from '../ports/directory-ports.ts';
import type { IntentTokens, LinkStore, RestoreHolds, Tenant } from '../ports/store-ports.ts';
import type { Clock } from '../ports/transaction-dependencies.ts';

/** Light modules around the code that readers need (ISO/IEC 18004 9.1). */
const QUIET_MODULES = 4;
/**
 * A token is long and a screen shows the code clearly, so the least redundancy keeps the modules large. The choice
 * of mask matters for repeating patterns, which a token does not have. Trying all eight masks takes ten times as
 * long as the rest.
 */
const OPTIONS = { errorCorrectionLevel: 'L', maskPattern: 3 } as const;
/** Eight light pixels of a row. */
const LIGHT = 0xff;
/** Precedes each row (PNG 9.2). */
const NO_FILTER = 0;
/**
 * By default zlib allocates 256 KB for each picture. The garbage collector then searched the whole heap several
 * times a second, and no request received a response meanwhile. A window of one kilobyte covers several rows, which are
 * similar.
 */
const DEFLATE = { windowBits: 10, memLevel: 5, level: 3, chunkSize: 4_096 } as const;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Draws the QR code of a link as a PNG in a data URL. The package supplies the modules. Drawing them here, with one
 * bit per pixel, takes a twentieth of the time of the package's own images, for which taps would have to wait.
 *
 * @param size pixels of a side; if that is less than one per module, the image is larger
 */
export function drawQrCode(url: string, size: number): string {
  const { modules } = QRCode.create([{ data: Buffer.from(url), mode: 'byte' }], OPTIONS);
  const count = modules.size + 2 * QUIET_MODULES;
  const scale = Math.max(1, Math.floor(size / count));
  const side = Math.max(size, count);
  const margin = Math.floor((side - modules.size * scale) / 2);
  const lineBytes = 1 + Math.ceil(side / 8);
  const lines = Buffer.alloc(side * lineBytes, LIGHT);
  for (let y = 0; y < side; y++) lines[y * lineBytes] = NO_FILTER;
  for (let row = 0; row < modules.size; row++) {
    const first = (margin + row * scale) * lineBytes;
    for (let column = 0; column < modules.size; column++) {
      if (modules.get(row, column) === 1) darken(lines, first + 1, margin + column * scale, scale);
    }
    for (let again = 1; again < scale; again++) lines.copyWithin(first + again * lineBytes, first, first + lineBytes);
  }
  return `data:image/png;base64,${encodePng(side, lines).toString('base64')}`;
}

/** Makes `count` pixels of a row dark, starting at pixel `from`. */
function darken(lines: Buffer, lineOffset: number, from: number, count: number): void {
  for (let x = from; x < from + count; x++) lines[lineOffset + (x >> 3)]! &= ~(0x80 >> (x & 7));
}

/** A square greyscale PNG with one bit per pixel (PNG 11.2.2). */
function encodePng(side: number, lines: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header[8] = 1;
  const data = deflateSync(lines, DEFLATE);
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** Length, type, data, and the CRC of the last two (PNG 5.3). */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

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
