import type { FastifyRequest } from 'fastify';
import { newDevice, registeredDevice } from '#schemas/device';
import { OPERATIONS } from '#schemas/operations';
import type { DeviceRegistry } from '../../push/device-registry.ts';
import type { DeviceUser } from '../../push/ports.ts';
import type { PushPayments } from '../../push/push-payments.ts';
import { type RouteGuards, requestHash } from '../idempotency.ts';
import type { RouteFacts } from '../route-table.ts';
import { responseSchema, type Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The user of a merchant's token; null for an administrator. Set by the routes of devices. */
    deviceUser?: DeviceUser;
  }
}

const SCOPE = 'devices:manage';

function deviceFacts(summary: string, section: string, more: Partial<RouteFacts>): { facts: RouteFacts } {
  // The SDK registers with the token that its merchant's backend signed.
  const takes = ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'] as const;
  return { facts: { summary, section, takes, scope: SCOPE, ...more } };
}

/** @throws Error in a route that does not set the user: without one, a caller would count as an administrator */
function userOf({ deviceUser }: FastifyRequest): DeviceUser {
  if (deviceUser === undefined) throw new Error('The route has not set the user of the device');
  return deviceUser;
}

/** Devices that can receive payments by push (4.18), for the tenants to which their merchant belongs. */
export function registerDeviceRoutes(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  devices: DeviceRegistry,
): void {
  // Runs before the body is read: only the headers of an unknown caller are read.
  const onRequest = async (request: FastifyRequest) => {
    const { owner, user } = await authenticator.ownerAndUser(request.headers, SCOPE);
    request.owner = owner;
    request.deviceUser = user;
  };

  withZod(server).route({
    method: 'POST',
    url: '/devices',
    config: deviceFacts('Register a device', '4.18', {
      description:
        'Registers a device for push payments (201). If the merchant already registered the device, the gateway stores the new name and push token (200). A device belongs to the user (`usr`) whose token registered it: tokens of other users cannot change it (403). Keys and portal users can. If one of these registered it, no token can.',
      problems: { 403: [101, 139], 404: [122], 409: [134] },
    }),
    schema: {
      body: newDevice,
      response: { 200: responseSchema(registeredDevice), 201: responseSchema(registeredDevice) },
    },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { device, isNew } = await devices.register(request.owner!, userOf(request), request.body);
      return reply.code(isNew ? 201 : 200).send(device);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.listDevices, 200),
    config: deviceFacts('List devices', '4.18', {
      description:
        'Lists the registered devices, newest first. Push tokens are never returned. The header `Link` (`rel="next"`) leads to the next page.',
    }),
    onRequest,
    handler: async (request, reply) => {
      const rows = await devices.list(request.owner!, request.query);
      return withNextPage(request, reply, rows, ({ id }) => id);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.renameDevice, 200),
    config: deviceFacts('Rename a device', 'extension', {
      description:
        'Changes the display name of a registered device. The token of another user than the one who registered it is refused with 403.',
      problems: { 404: [136] },
    }),
    onRequest,
    handler: (request) => devices.rename(request.owner!, userOf(request), request.params.id, request.body.friendlyName),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.removeDevice, 200),
    config: deviceFacts('Remove a device', '4.18', {
      description:
        'Removes the registration of a device. The device receives no further push payments. The token of another user than the one who registered it is refused with 403.',
      problems: { 404: [136] },
    }),
    onRequest,
    handler: async (request) => {
      const { id } = request.params;
      await devices.remove(request.owner!, userOf(request), id);
      return { id };
    },
  });
}

/** 4.18: a payment for a given device. Like every payment it is created by a server or a person, not by a device. */
export function registerPushRoute(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  pushes: PushPayments,
): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.pushPaymentToDevice, 201),
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
      const response = await pushes.push(request.owner!, wanted);
      return reply.code(201).header('cache-control', 'no-store').send(response);
    },
  });
}
