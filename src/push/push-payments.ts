import type { PushResponse } from '#schemas/device';
import type { JobPayloads } from '#schemas/jobs';
import { Forbidden, invalidValue, RequestRejected } from '../basics/errors.ts';
import { createLink, type LinkRequest, type LinkServices, payUrl } from '../payments/links/create-link.ts';
import type { StorableJob } from '../payments/model/decision.ts';
import type { LinkKey, NewLink } from '../payments/model/link.ts';
import { currencyOf, findCurrency, formatAmount } from '../payments/model/money.ts';
import type { Directory } from '../payments/ports/directory-ports.ts';
import type { LinkFinder, Tenant } from '../payments/ports/store-ports.ts';
import { type PushTokenVault, unknownDevice } from './device-registry.ts';
import type {
  DeviceStore,
  PushDevice,
  PushedPayment,
  PushFailure,
  PushRecord,
  PushResult,
  PushSender,
} from './ports.ts';

/** The caller waits for it, and has the link as an alternative. */
const FIRST_ATTEMPT_MS = 3_000;
const ATTEMPT_MS = 10_000;
/** After five minutes the customer has left the till (contract: TTL 300 s). */
const TTL_SECONDS = 300;
/** Between attempts; in total a little less than the TTL. */
const DELAYS_SECONDS = [5, 10, 20, 40, 60, 60, 60];
/** If a push service asks for a longer pause, it exceeds what a customer at a till accepts. */
const MAX_DELAY_SECONDS = 60;

interface FailedPush {
  readonly acquirerId: number;
  /** Reference of the link. */
  readonly reference: string;
  readonly reason: PushFailure | 'UNAVAILABLE';
}

/** The payment to request on a device; `amount` is decimal text in major units. */
export interface PushRequest extends Pick<LinkRequest, 'amount' | 'qrCodeSize' | 'requestHash'> {
  readonly deviceId: string;
  readonly currency: string;
  readonly merchantReference: string;
}

type PushJob = JobPayloads['push'];

/** Sends payments to devices: at once, or by jobs while the push service is unavailable. */
export class PushPayments {
  readonly #options;

  constructor(options: {
    readonly devices: DeviceStore;
    readonly vault: PushTokenVault;
    /** Creates the links. */
    readonly services: LinkServices;
    readonly links: Pick<LinkFinder, 'find'>;
    readonly sender: PushSender;
    readonly directory: Pick<Directory, 'isBlockedDevice'>;
    readonly enqueue: (job: StorableJob) => Promise<void>;
    /** Keeps the outcome of the last attempt. Never fails: the message was sent or not all the same. */
    readonly record: (push: PushRecord) => Promise<void>;
    /** Called for each push that cannot be delivered. */
    readonly onFailed: (push: FailedPush) => void;
  }) {
    this.#options = options;
  }

  /**
   * Creates a link for the payment and sends it to the device. The link remains valid even if the message fails.
   *
   * @throws RequestRejected (DEVICE_NOT_REGISTERED, DEVICE_OF_SEVERAL_MERCHANTS), Forbidden for a blocked device, and
   * the errors of createLink
   */
  async push(owner: Tenant, { deviceId, currency, merchantReference, ...request }: PushRequest): Promise<PushResponse> {
    const device = await this.#findDevice(owner, deviceId);
    if (!findCurrency(currency)) throw unknownCurrency();
    const { merchantId } = device;
    const wanted = { ...request, merchantId, paymentReference: merchantReference, currencyCode: currency };
    const created = await createLink(this.#options.services, owner, { ...wanted, kind: 'link', isConsumerApp: true });
    const { link, url, token, qrCode } = created;
    const result = await this.#send(device, paymentOf(link, url, token), FIRST_ATTEMPT_MS);
    if (result.kind === 'unavailable') await this.#options.enqueue(firstRetry(device, link.id, result));
    await this.#record(device, link.id, result, true);
    if (result.kind === 'failed') this.#options.onFailed({ ...keyOf(link), reason: result.reason });
    return {
      reference: link.id,
      status: result.kind === 'unavailable' ? 'queued' : result.kind,
      url,
      ...(qrCode !== undefined && { qrCode }),
      expiresAt: new Date(link.expiresAtMs).toISOString(),
      ...(result.kind === 'failed' && { failureReason: result.reason }),
    };
  }

  /** Runs one job: at most one attempt. Also done if the link was paid or has expired, or the device was removed. */
  async retry(job: PushJob): Promise<'done' | { readonly againAfterSeconds: number; readonly payload: PushJob }> {
    const { devices, links, services, directory, onFailed } = this.#options;
    const { acquirerId, reference, deviceId, attempt } = job;
    const device = (await devices.find({ acquirerId }, deviceId)).find(({ id }) => id === deviceId);
    const link = await links.find({ acquirerId, id: reference });
    const isOver = !link || link.isPast || link.isHeld;
    if (isOver || !device || directory.isBlockedDevice(acquirerId, device.deviceInstallationId)) return 'done';
    const token = await services.tokens.issue(link);
    const result = await this.#send(device, paymentOf(link, payUrl(services, link, token), token), ATTEMPT_MS);
    const againAfterSeconds = result.kind === 'unavailable' ? delayAfter(attempt, result) : undefined;
    await this.#record(device, reference, result, againAfterSeconds !== undefined);
    if (againAfterSeconds !== undefined) return { againAfterSeconds, payload: { ...job, attempt: attempt + 1 } };
    if (result.kind !== 'sent') {
      onFailed({ ...keyOf(link), reason: result.kind === 'failed' ? result.reason : 'UNAVAILABLE' });
    }
    return 'done';
  }

  #record(device: PushDevice, reference: string, result: PushResult, isRepeated: boolean): Promise<void> {
    const { acquirerId, id: deviceId } = device;
    return this.#options.record({ acquirerId, reference, deviceId, outcome: outcomeOf(result, isRepeated) });
  }

  async #findDevice(owner: Tenant, deviceId: string): Promise<PushDevice> {
    const [device, another] = await this.#options.devices.find(owner, deviceId);
    if (!device) throw unknownDevice();
    if (another) throw new RequestRejected('DEVICE_OF_SEVERAL_MERCHANTS');
    const isBlocked = this.#options.directory.isBlockedDevice(device.acquirerId, device.deviceInstallationId);
    if (isBlocked) throw new Forbidden('BLOCKED_DEVICE');
    return device;
  }

  async #send(device: PushDevice, payment: PushedPayment, timeoutMs: number): Promise<PushResult> {
    const { vault, sender, devices } = this.#options;
    const pushToken = device.sealedPushToken && vault.open(device, device.sealedPushToken);
    if (!pushToken) return { kind: 'failed', reason: 'NO_PUSH_TOKEN' };
    const { reference } = payment;
    const result = await sender.send(
      { reference, pushToken, data: pushData(payment), ttlSeconds: TTL_SECONDS },
      timeoutMs,
    );
    if (result.kind === 'failed' && result.reason === 'UNREGISTERED') await devices.dropToken(device);
    return result;
  }
}

/** @param isRepeated whether another attempt follows if the push service is unavailable */
function outcomeOf(result: PushResult, isRepeated: boolean): PushRecord['outcome'] {
  if (result.kind === 'failed') return result.reason;
  return result.kind === 'sent' ? 'sent' : isRepeated ? 'queued' : 'UNAVAILABLE';
}

type Unavailable = Extract<PushResult, { kind: 'unavailable' }>;

function firstRetry({ acquirerId, id }: PushDevice, reference: string, result: Unavailable): StorableJob {
  const data = { acquirerId, reference, deviceId: id, attempt: 2 };
  return { queue: 'push', data, startAfterSeconds: delayAfter(1, result) ?? MAX_DELAY_SECONDS };
}

/** Undefined after the last attempt. */
function delayAfter(attempt: number, { retryAfterSeconds = 0 }: Unavailable): number | undefined {
  const defaultValue = DELAYS_SECONDS[attempt - 1];
  return defaultValue === undefined
    ? undefined
    : Math.max(defaultValue, Math.min(retryAfterSeconds, MAX_DELAY_SECONDS));
}

function keyOf({ acquirerId, id: reference }: LinkKey): Pick<FailedPush, 'acquirerId' | 'reference'> {
  return { acquirerId, reference };
}

function paymentOf(link: NewLink, url: string, token: string): PushedPayment {
  const { id: reference, amountMinor, currency, paymentReference: merchantReference } = link;
  return {
    reference,
    url,
    token,
    amount: formatAmount(amountMinor, currencyOf(currency)),
    currency,
    merchantReference,
  };
}

function unknownCurrency(): RequestRejected {
  return invalidValue('currency', 'must be a currency code of ISO 4217');
}

/**
 * Contains both the link and the fields (6.2), so that every version of the SDK finds what it supports. All values
 * are text.
 */
function pushData(payment: PushedPayment): Readonly<Record<string, string>> {
  const { reference, url, token, amount, currency, merchantReference } = payment;
  return { link: url, reference, amount, currency, merchantReference, configJwt: token };
}
