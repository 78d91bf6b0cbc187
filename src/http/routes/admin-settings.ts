import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acquirerPath, settingPath } from '#schemas/admin';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { AcquirerSettings } from '../../store/acquirer-settings.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

/** One kind of an acquirer's settings, as its routes show it. */
export interface SettingsRoutesOptions<Settings extends object, Stored extends { readonly id: number }> {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
  /** `processors`: the last word of its address. */
  readonly name: string;
  readonly body: z.ZodType<Settings>;
  readonly answer: z.ZodType<Stored>;
  readonly settings: AcquirerSettings<Settings, Stored>;
  /** What the schema of the body cannot say. @throws RequestRefused */
  readonly check: (settings: Settings) => void;
}

/** `/acquirers/:acquirerId/<name>`: list, add, show, change and remove, for the operator and for the acquirer itself. */
export function registerSettingsRoutes<Settings extends object, Stored extends { readonly id: number }>(
  server: Server,
  { authenticator, idempotent, name, body, answer, settings, check }: SettingsRoutesOptions<Settings, Stored>,
): void {
  const all = `/acquirers/:acquirerId/${name}`;
  const one = `${all}/:id`;
  const shown = { 200: answerSchema(answer) };
  // Before the body is read: a stranger gets no further than the headers.
  const onRequest = async (request: FastifyRequest) => {
    const { acquirerId } = request.params as { acquirerId: string };
    const { keyId } = await authenticator.administrator(request.headers, acquirerId, 'processors:manage');
    request.change = { acquirerId: Number(acquirerId), actor: `key ${keyId}` };
  };

  withZod(server).route({
    method: 'GET',
    url: all,
    schema: { params: acquirerPath, response: { 200: answerSchema(answer.array()) } },
    onRequest,
    handler: (request) => settings.list(request.params.acquirerId),
  });

  withZod(server).route({
    method: 'POST',
    url: all,
    schema: { params: acquirerPath, body, response: { 201: answerSchema(answer) } },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const given = request.body as Settings;
      check(given);
      const added = await settings.add(request.change!, given);
      return reply
        .code(201)
        .header('location', `${request.url.split('?', 1)[0]}/${added.id}`)
        .send(added);
    },
  });

  withZod(server).route({
    method: 'GET',
    url: one,
    schema: { params: settingPath, response: shown },
    onRequest,
    handler: ({ params: { acquirerId, id } }) => settings.find(acquirerId, id),
  });

  withZod(server).route({
    method: 'PUT',
    url: one,
    schema: { params: settingPath, body, response: shown },
    onRequest,
    handler: (request) => {
      const given = request.body as Settings;
      check(given);
      return settings.change(request.change!, request.params.id, given);
    },
  });

  withZod(server).route({
    method: 'DELETE',
    url: one,
    schema: { params: settingPath, response: { 204: answerSchema(z.null()) } },
    onRequest,
    handler: async (request, reply) => {
      await settings.remove(request.change!, request.params.id);
      return reply.code(204).send(null);
    },
  });
}
