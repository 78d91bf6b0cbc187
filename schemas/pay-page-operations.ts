/**
 * Requests of a pay page to its gateway beyond the API, as rows like those of `operations.ts`. They are not for
 * integrators.
 */
import { get, type Operation, post } from './operation.ts';
import { payPageLink, payPageQrCode, payPageState, virtualPin, virtualReading, virtualTap } from './pay-page.ts';

export const PAY_PAGE_OPERATIONS = {
  getPayPageState: get('/pay/{reference}/state', 'token', { params: payPageLink, response: payPageState }),
  getPayPageQrCode: get('/pay/{reference}/qr-code', 'token', { params: payPageLink, response: payPageQrCode }),
} as const satisfies Record<string, Operation>;

/** Requests of its virtual phone in `dev`. */
export const VIRTUAL_READER_OPERATIONS = {
  readTestCard: post('/dev/virtual-reader/tap', 'token', { body: virtualTap, response: virtualReading }),
  enterTestPin: post('/dev/virtual-reader/pin', 'token', { body: virtualPin, response: virtualReading }),
} as const satisfies Record<string, Operation>;
