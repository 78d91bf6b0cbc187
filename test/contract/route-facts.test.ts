import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createServer, responseSchema, type Server } from '../../src/http/server.ts';
import { withZod } from '../../src/http/with-zod.ts';

let server: Server;
beforeEach(() => {
  server = createServer({
    log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
  });
});
afterEach(() => server.close());

const facts = { summary: 'Look', section: 'extension', takes: [] } as const;

test('a route without its facts cannot be registered', () => {
  expect(() => server.get('/mute', async () => ({}))).toThrow('GET /mute has no config.facts');
});

test('a route without parameters refuses every parameter', async () => {
  server.get('/plain', { config: { facts } }, async () => ({}));
  expect((await server.inject('/plain')).statusCode).toBe(200);
  const refused = await server.inject('/plain?x=1');
  expect(refused.statusCode).toBe(400);
  expect(refused.json()).toMatchObject({ errorCode: 104, type: '/docs/errors#104' });
});

test('a deprecated route states since when, and its successor', async () => {
  const deprecated = { since: '2026-01-01', successor: '/better' };
  server.get('/old', { config: { facts: { ...facts, deprecated } } }, async () => ({}));
  const { headers } = await server.inject('/old');
  expect(headers.deprecation).toBe(`@${Date.parse('2026-01-01') / 1_000}`);
  expect(headers.link).toBe('</better>; rel="successor-version"');
});

test('a request on an open connection receives a response while the server stops, and the connection ends with it', async () => {
  server.get('/quick', { config: { facts } }, async () => ({}));
  const url = new URL(await server.listen({ port: 0, host: '127.0.0.1' }));
  const accepted = once(server.server, 'connection');
  const socket = connect(Number(url.port), url.hostname);
  const received = text(socket);
  await accepted;
  const closed = server.close();
  socket.write('GET /quick HTTP/1.1\r\nhost: x\r\n\r\n');
  expect(await received).toMatch(/^HTTP\/1\.1 200 .*connection: close\r\n/s);
  await closed;
});

test('a body with more than sixteen levels is refused, not counting brackets in text', async () => {
  const body = z.object({ text: z.string().optional(), deep: z.unknown().optional() });
  const schema = { body, response: { 200: responseSchema(z.object({})) } };
  withZod(server).route({ method: 'POST', url: '/take', config: { facts }, schema, handler: async () => ({}) });
  const send = (payload: string) =>
    server.inject({ method: 'POST', url: '/take', payload, headers: { 'content-type': 'application/json' } });
  const nested = (levels: number) => `{"deep":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  expect((await send(nested(16))).statusCode).toBe(200);
  const refused = await send(nested(17));
  expect(refused.statusCode).toBe(400);
  expect(refused.json()).toMatchObject({
    errorCode: 104,
    detail: 'The body must not be nested deeper than 16 levels.',
  });
  expect((await send(JSON.stringify({ text: '[{"\\'.repeat(100) }))).statusCode).toBe(200);
  expect((await send(JSON.stringify({ deep: Array.from({ length: 100 }, () => [{}]) }))).statusCode).toBe(200);
  expect((await send(`${nested(17)}`.repeat(1_000))).statusCode).toBe(400);
});
