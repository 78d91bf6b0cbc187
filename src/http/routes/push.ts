import type { FastifyRequest } from 'fastify';
import { newPush, pushAnswer } from '#schemas/push';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { PushPayments } from '../../push/push-payments.ts';
import { type IdempotentRoute, requestHash } from '../idempotency.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface PushRouteOptions {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
  readonly pushes: PushPayments;
}

/** 4.18: a payment for a given device. Like every payment it is created by a server or a person, not by a device. */
export function registerPushRoute(server: Server, { authenticator, idempotent, pushes }: PushRouteOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/consumer/push',
    config: {
      facts: {
        summary: 'Push a payment to a device',
        section: '4.18',
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'loginToken'],
        scope: 'payments:create',
        description:
          'Creates a link and sends a push message to a registered device. The link remains valid if the push fails; `failureReason` then states the cause.',
        problems: { 400: [104], 403: [139], 404: [136], 409: [124, 134] },
      },
    },
    schema: { body: newPush, response: { 201: answerSchema(pushAnswer) } },
    // Runs before the body is read: only the headers of an unknown caller are read.
    onRequest: async (request: FastifyRequest) => {
      request.owner = await authenticator.creator(request.headers, 'payments:create');
    },
    ...idempotent,
    handler: async (request, reply) => {
      const { deviceId, amount, currency, merchantReference, image } = request.body;
      const qrCodeSize = image?.required ? image.size : undefined;
      const wanted = {
        ...{ deviceId, amount, currency, merchantReference, qrCodeSize },
        requestHash: requestHash(request),
      };
      const answer = await pushes.push(request.owner!, wanted);
      return reply.code(201).header('cache-control', 'no-store').send(answer);
    },
  });
}
