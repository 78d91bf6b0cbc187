import { mobileHeaders, onlineAuthorizationAnswer } from '#schemas/mobile-transaction';
import { mobilePin, pinParams } from '#schemas/pin';
import { submitPin } from '../../payments/pins/submit-pin.ts';
import { answerPhone } from '../answer-phone.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import type { TapRoutesOptions } from './taps.ts';

/** 4.5: a phone submits the PIN for its tap, and waits for the outcome. */
export function registerPinRoute(server: Server, { deps, identify, attest }: TapRoutesOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/transactions/:transactionId/submitPinMobile',
    config: {
      facts: {
        summary: 'Submit a PIN',
        section: '4.5',
        waitsForSwitch: true,
        takes: ['merchantToken', 'intentToken'],
        description:
          'Submits the PIN of a tap whose response had `isSingleTapAndPin` true, and waits for the outcome like the tap. The body repeats the card data and the merchantReference of the tap, and adds the pinToken and the encrypted PIN. Refused with 409 unless the transaction waits for a PIN.',
        problems: { 400: [202], 403: [106, 107, 108, 109, 110], 409: [104, 124], 429: [203], 500: [208], 503: [203] },
      },
    },
    schema: {
      params: pinParams,
      headers: mobileHeaders,
      body: mobilePin,
      response: { 200: answerSchema(onlineAuthorizationAnswer) },
    },
    onRequest: [identify, attest],
    handler: async (request, reply) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const pin = { ...request.body, deviceInstallationId, correlationId: request.correlationId };
      const transaction = await submitPin(deps, request.submitter!, request.params.transactionId, pin);
      return answerPhone(deps, transaction, reply);
    },
  });
}
