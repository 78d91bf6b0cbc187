import { Agent, request, ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../src/http/server.ts';

const CONNECTIONS = 100;

/** Sends a request, and leaves its connection open. */
function ask(agent: Agent, url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL('/things', url), { agent, method: 'POST' }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    asked.on('error', reject).end();
  });
}

test('an idle connection holds nothing of the requests before', async () => {
  const server = createServer({
    log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
  });
  const facts = { summary: 'Look', section: 'extension', takes: [] } as const;
  server.post('/things', { config: { facts } }, async () => ({}));
  const url = await server.listen({ port: 0 });
  const agent = new Agent({ keepAlive: true, maxFreeSockets: CONNECTIONS });
  onTestFinished(async () => {
    agent.destroy();
    await server.close();
  });
  const before = queryObjects(ServerResponse, { format: 'count' });
  const statuses = await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(agent, url)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(CONNECTIONS);
  // Responses end shortly after their last byte was read. A connection that held its last one would hold it for ever.
  await expect.poll(() => queryObjects(ServerResponse, { format: 'count' }) - before).toBe(0);
});
