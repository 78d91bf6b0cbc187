import type { FastifyRequest } from 'fastify';
import { mobileHeaders, mobileTransaction, onlineAuthorizationAnswer } from '#schemas/mobile-transaction';
import { submitTap } from '../../transactions/tap/submit-tap.ts';
import type { World } from '../../transactions/world.ts';
import { answerPhone } from '../answer-phone.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface TapRoutesOptions {
  readonly world: World;
  /** Lets in whose tap it may be, see `identifySubmitter`. */
  readonly identify: (request: FastifyRequest) => Promise<void>;
}

const SUBMIT =
  'Waits for the switch: its deadline (30 s unless configured) and 5 s more. Every outcome that was processed is 200. ' +
  'The same merchantReference with the same blobs from the same device gets the same answer again. A tap is for a link or ' +
  'intent when it comes with its token, or when its merchantReference is the paymentReference or the id of one: then amount ' +
  'and currency must be the same, and one tap at a time holds it. A token of a link pays nothing else, on the terminal that ' +
  'the link or its merchant has: it admits the paymentReference of the link and the merchantReference of its details, and ' +
  'every other reference is 403. Taps are limited per token and per merchant. A tap that announces ' +
  'a refund, cash, cashback, an amount of zero or no cryptogram is 400, and nothing is sent.';

/** 4.4: a phone submits a tap and waits for its outcome. */
export function registerTapRoutes(server: Server, { world, identify }: TapRoutesOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/transactions/mobile',
    config: {
      facts: {
        summary: 'Submit a tap',
        section: '4.4',
        waitsForSwitch: true,
        takes: ['merchantToken', 'intentToken'],
        description: SUBMIT,
        problems: { 400: [202], 404: [122], 409: [124], 410: [118], 429: [203], 500: [208], 503: [203] },
      },
    },
    schema: {
      headers: mobileHeaders,
      body: mobileTransaction,
      response: { 200: answerSchema(onlineAuthorizationAnswer) },
    },
    onRequest: identify,
    handler: async (request, reply) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const { correlationId } = request;
      const tap = { ...request.body, deviceInstallationId, correlationId };
      const transaction = await submitTap(world, request.submitter!, tap);
      return answerPhone(world, transaction, reply);
    },
  });
}
