import type { FastifyRequest } from 'fastify';
import { OPERATIONS } from '#schemas/operations';
import type { TransactionDependencies } from '../../payments/ports/transaction-dependencies.ts';
import type { UseCases } from '../../payments/use-cases.ts';
import { respondToPhone } from '../respond-to-phone.ts';
import type { Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';

export interface TapRoutesOptions {
  readonly deps: TransactionDependencies;
  readonly useCases: UseCases;
  /** Accepts the credentials that may submit a tap, see `identifySubmitter`. */
  readonly identify: (request: FastifyRequest) => Promise<void>;
  /** Refuses devices without the attestation that their acquirer requires, see `requireAttestation`. */
  readonly attest: (request: FastifyRequest) => Promise<void>;
}

const SUBMIT =
  'Submits one card tap and waits for the outcome. The response arrives within the timeout of the processor (30 s unless ' +
  'configured) plus 5 s. Every processed outcome, declines included, has the HTTP status 200.\n\n' +
  'Repeats: the same merchantReference with the same card data from the same device returns the stored response. A merchantReference whose taps reached no switch can be used again, for at most 50 taps and 180 days.\n\n' +
  'Links and intents: a tap pays a link or intent if the request has its intent token, or if the merchantReference equals the ' +
  'paymentReference or id. Amount and currency must then match, and only one tap at a time can hold the link. An intent token ' +
  'permits only the paymentReference of its link and the merchantReference from the link details; any other reference is ' +
  'refused with 403. The tap then uses the terminal of the link or of its merchant.\n\n' +
  'Limits: the gateway limits the rate of taps per token and per merchant (429). It refuses refunds, cash, cashback, an amount ' +
  'of zero and a missing cryptogram with 400 and sends nothing to the switch. Only TT3 taps may have the amount zero.';

/** 4.4: a phone submits a tap and waits for its outcome. */
export function registerTapRoutes(
  server: Server,
  { deps, useCases: { taps, outcomes }, identify, attest }: TapRoutesOptions,
): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.submitTap, 200),
    config: {
      facts: {
        summary: 'Submit a tap',
        section: '4.4',
        waitsForSwitch: true,
        takes: ['merchantToken', 'intentToken'],
        description: SUBMIT,
        problems: {
          400: [202],
          403: [106, 107, 108, 109, 110],
          404: [122],
          409: [124],
          410: [118],
          429: [203],
          500: [208],
          503: [203],
        },
      },
    },
    onRequest: [identify, attest],
    handler: async (request, reply) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const { correlationId } = request;
      const tap = { ...request.body, deviceInstallationId, correlationId };
      const transaction = await taps.submit(request.submitter!, tap);
      return respondToPhone(deps, outcomes, transaction, reply);
    },
  });
}

/**
 * The device that submitted a tap confirms that it has the outcome (extension). Only this route leads to
 * AcknowledgedByPhone.
 */
export function registerAcknowledgeRoutes(server: Server, { useCases: { taps }, identify }: TapRoutesOptions): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.acknowledgeOutcome, 200),
    config: {
      facts: {
        summary: 'Acknowledge an outcome',
        section: 'extension',
        takes: ['merchantToken', 'intentToken'],
        description:
          'Records that the device received the outcome. The status becomes AcknowledgedByPhone. Only the device that submitted the tap can acknowledge it, and only after an outcome.',
        problems: { 409: [104, 134], 429: [203] },
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const { id } = await taps.acknowledge(request.submitter!, { id: request.params.id, deviceInstallationId });
      return { serviceReference: id, status: 'AcknowledgedByPhone' as const };
    },
  });
}

/** 4.5: a phone submits the PIN for its tap, and waits for the outcome. */
export function registerPinRoute(
  server: Server,
  { deps, useCases: { pins, outcomes }, identify, attest }: TapRoutesOptions,
): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.submitPin, 200),
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
    onRequest: [identify, attest],
    handler: async (request, reply) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const pin = { ...request.body, deviceInstallationId, correlationId: request.correlationId };
      const transaction = await pins.submit(request.submitter!, request.params.transactionId, pin);
      return respondToPhone(deps, outcomes, transaction, reply);
    },
  });
}
