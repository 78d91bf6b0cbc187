// Does with a link what a payment app does, step by step and at the real endpoints. Only its card and its reader are
// virtual.

import { DEFAULT_TIMEOUT_MS, randomUuid } from './client.ts';
import { gateway } from './gateway.js';
import { link } from './link.js';
import { OPERATIONS } from './operations.ts';
import { sealCardData } from './seal-card-data.ts';

/** @typedef {{ params?: object, body?: object, headers?: object }} Parts */
/** @typedef {Parts & { operation: string }} Submission */
/** @typedef {{ transactionId: string, pinToken: string }} PinStep */
/** @typedef {import('../../../schemas/card-data.ts').CardDataPublicKey[]} Keys */

/**
 * A sequence of taps on one link by one device. Each step resolves with `onlineAuthorizationResponse` of 4.4 or 4.5,
 * and throws what the client throws.
 */
export class TapSession {
  #reference;
  #onCall;
  #device = randomUuid();
  /** @type {Keys | undefined} */
  #keys;
  #card = '';
  #merchantReference = '';
  /** @type {Map<number, Uint8Array>} Values from the reader, by tag. A PIN is sealed together with them. */
  #values = new Map();
  /** @type {PinStep | undefined} */
  #pinStep;
  /** @type {Submission | undefined} The submission that has no response yet. */
  #submission;

  /**
   * @param {string} reference of the link
   * @param {(call: string, outcome: string) => void} onCall called for each request, without ids
   */
  constructor(reference, onCall) {
    this.#reference = reference;
    this.#onCall = onCall;
  }

  /** A submission was sent and may have arrived; only `repeat` is allowed. */
  get isSubmitted() {
    return this.#submission !== undefined;
  }

  /**
   * Details, TransactionStarted, the card, 4.4.
   *
   * @param {string} card
   */
  async tap(card) {
    this.#submission = undefined;
    const { merchantReference } = await this.#ask('getLinkDetails', { params: { id: this.#reference } });
    await this.#acknowledge('TransactionStarted');
    const reading = await this.#ask('readTestCard', { body: { card } });
    this.#card = card;
    this.#merchantReference = merchantReference;
    this.#values = valuesOf(reading);
    this.#pinStep = undefined;
    this.#submission = { operation: 'submitTap', body: await this.#seal(this.#values) };
    return this.repeat();
  }

  /**
   * Submits the requested PIN, 4.5.
   *
   * @param {string} pin
   */
  async enterPin(pin) {
    this.#submission = undefined;
    const reading = await this.#ask('enterTestPin', { body: { card: this.#card, pin } });
    const sealed = await this.#seal(new Map([...this.#values, ...valuesOf(reading)]));
    const { transactionId, pinToken } = /** @type {PinStep} */ (this.#pinStep);
    this.#submission = { operation: 'submitPin', params: { transactionId }, body: { ...sealed, pinToken } };
    return this.repeat();
  }

  /** Submits again what had no response. The gateway recognizes it, because its bytes are the same. */
  async repeat() {
    const { operation, ...parts } = /** @type {Submission} */ (this.#submission);
    const headers = { 'x-device-installation-id': this.#device };
    // The switch gets its full time.
    const options = { timeoutMs: DEFAULT_TIMEOUT_MS };
    const { onlineAuthorizationResponse: response } = await this.#ask(operation, { ...parts, headers }, options);
    const { serviceReference: transactionId, isSingleTapAndPin, pinToken } = response;
    if (isSingleTapAndPin) this.#pinStep = { transactionId, pinToken };
    // Informs the merchant only; a failure does not change the outcome.
    else await this.#acknowledge('ResponseReceivedByPhone', transactionId).catch(() => {});
    return response;
  }

  /**
   * @param {string} status
   * @param {string} [transactionId]
   */
  #acknowledge(status, transactionId) {
    const body = { qrCodeId: this.#reference, status, ...(transactionId && { transactionId }) };
    return this.#ask('acknowledgeLink', { body });
  }

  /** @param {Map<number, Uint8Array>} values */
  async #seal(values) {
    this.#keys ??= (await this.#ask('getCardDataKeys', {})).keys;
    const [recipient] = /** @type {Keys} */ (this.#keys);
    const merchant = link && merchantOf(link.token);
    const binding = { deviceInstallationId: this.#device, merchantReference: this.#merchantReference, merchant };
    return sealCardData(recipient, values, binding);
  }

  /**
   * @param {string} operation
   * @param {Parts} request
   * @param {object} [options]
   */
  async #ask(operation, request, options) {
    const { method, path } = /** @type {Record<string, { method: string, path: string }>} */ (OPERATIONS)[operation];
    const { status } = /** @type {{ status?: string }} */ (request.body ?? {});
    const call = [method, path, status].filter(Boolean).join(' ');
    try {
      const response = await gateway[operation](request, options);
      this.#onCall(call, 'ok');
      return response;
    } catch (error) {
      this.#onCall(call, error.status ?? 'no response');
      throw error;
    }
  }
}

/**
 * The merchant that the intent token names (schemas/tokens.ts). Only the gateway verifies the token.
 *
 * @param {string} token
 */
function merchantOf(token) {
  const { acquirerId, sub: merchantId } = JSON.parse(
    atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')),
  );
  return { acquirerId, merchantId };
}

/**
 * Converts the hex strings of the virtual reader to the bytes by tag that the sealer takes.
 *
 * @param {{ values: Record<string, string> }} reading
 */
function valuesOf({ values }) {
  return new Map(Object.entries(values).map(([tag, hex]) => [Number.parseInt(tag, 16), bytesOf(hex)]));
}

/** @param {string} hex */
function bytesOf(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}
