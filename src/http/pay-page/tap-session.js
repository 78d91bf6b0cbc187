// What a payment app does with a link, step by step and at the real endpoints. Only its card and its reader are virtual.

import { ask, NoAnswer, PATIENCE_WITH_SWITCH_MS } from './gateway.js';
import { sealCardData } from './seal-card-data.js';

/**
 * @typedef {object} Outcome
 * @property {'pin' | 'done' | 'refused'} kind
 * @property {object} [response] `onlineAuthorizationResponse` of 4.4 or 4.5
 * @property {object} [problem] of a refusal
 */

/** One tap after the other on one link, by one device. */
export class TapSession {
  #link;
  #onCall;
  #device = crypto.randomUUID();
  #keys;
  #card;
  #merchantReference;
  /** What the reader read, by tag: a PIN is sealed together with it. */
  #values;
  #pinStep;
  /** What was submitted and not answered yet. */
  #submission;

  /**
   * @param {import('./link.js').Link} link
   * @param {(call: { method: string, path: string, status: number }) => void} onCall told of each request, ids left out
   */
  constructor(link, onCall) {
    this.#link = link;
    this.#onCall = onCall;
  }

  /** Something is on its way, or has arrived: `repeat` is what is left to do. */
  get isSubmitted() {
    return this.#submission !== undefined;
  }

  /** Details, TransactionStarted, the card, 4.4. @returns {Promise<Outcome>} @throws {NoAnswer} */
  async tap(card) {
    const { reference } = this.#link;
    this.#submission = undefined;
    const details = await this.#ask('GET', 'consumer/qrCodeDetails/:id', { id: reference });
    if (details.status !== 200) return refused(details);
    const started = await this.#acknowledge('TransactionStarted');
    if (started.status !== 200) return refused(started);
    const reading = await this.#ask('POST', 'dev/virtual-reader/tap', { body: { card } });
    if (reading.status !== 200) return refused(reading);
    this.#card = card;
    this.#merchantReference = details.body.merchantReference;
    this.#values = valuesOf(reading.body);
    this.#pinStep = undefined;
    this.#submission = { path: 'transactions/mobile', body: await this.#seal(this.#values) };
    return this.repeat();
  }

  /** The PIN that was asked for, 4.5. @returns {Promise<Outcome>} @throws {NoAnswer} */
  async enterPin(pin) {
    this.#submission = undefined;
    const reading = await this.#ask('POST', 'dev/virtual-reader/pin', { body: { card: this.#card, pin } });
    if (reading.status !== 200) return refused(reading);
    const sealed = await this.#seal(new Map([...this.#values, ...valuesOf(reading.body)]));
    const { transactionId, pinToken } = this.#pinStep;
    const path = 'transactions/:id/submitPinMobile';
    this.#submission = { path, id: transactionId, body: { ...sealed, pinToken } };
    return this.repeat();
  }

  /** Submits once more what had no answer: the gateway knows it by its bytes. @returns {Promise<Outcome>} @throws {NoAnswer} */
  async repeat() {
    const { path, id, body } = this.#submission;
    const headers = { 'x-device-installation-id': this.#device };
    const answer = await this.#ask('POST', path, { id, body, headers, patienceMs: PATIENCE_WITH_SWITCH_MS });
    if (answer.status !== 200) return refused(answer);
    const response = answer.body.onlineAuthorizationResponse;
    const { serviceReference: transactionId, isSingleTapAndPin, pinToken } = response;
    if (isSingleTapAndPin) {
      this.#pinStep = { transactionId, pinToken };
      return { kind: 'pin', response };
    }
    // Told for the merchant's sake; the outcome is what it is.
    await this.#acknowledge('ResponseReceivedByPhone', transactionId).catch(() => {});
    return { kind: 'done', response };
  }

  #acknowledge(status, transactionId) {
    const body = { qrCodeId: this.#link.reference, status, ...(transactionId && { transactionId }) };
    return this.#ask('POST', 'consumer/acknowledge', { body, says: status });
  }

  async #seal(values) {
    this.#keys ??= await this.#fetchKeys();
    const binding = { deviceInstallationId: this.#device, merchantReference: this.#merchantReference };
    return sealCardData(this.#keys[0], values, binding);
  }

  async #fetchKeys() {
    const { status, body } = await this.#ask('GET', '.well-known/card-data-keys.json', {});
    if (status !== 200) throw new NoAnswer('there are no keys');
    return body.keys;
  }

  async #ask(method, path, { id, says, ...rest }) {
    const filled = path.replace(':id', encodeURIComponent(id ?? ''));
    const answer = await ask({ method, path: filled, token: this.#link.token, ...rest });
    this.#onCall({ method, path: says ? `${path} ${says}` : path, status: answer.status });
    return answer;
  }
}

function refused({ body }) {
  return { kind: 'refused', problem: body };
}

/** Hex to hex as the virtual reader says it, by tag as the sealer takes it. */
function valuesOf({ values }) {
  return new Map(Object.entries(values).map(([tag, hex]) => [Number.parseInt(tag, 16), bytesOf(hex)]));
}

function bytesOf(hex) {
  return Uint8Array.from(hex.match(/../g), (digits) => Number.parseInt(digits, 16));
}
