import { Agent, request } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../src/http/server.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

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
  const responses: WeakRef<object>[] = [];
  server.post('/things', { config: { facts } }, async (_request, reply) => {
    responses.push(new WeakRef(reply.raw));
    return {};
  });
  const url = await server.listen({ port: 0 });
  const agent = new Agent({ keepAlive: true, maxFreeSockets: CONNECTIONS });
  onTestFinished(async () => {
    agent.destroy();
    await server.close();
  });
  const statuses = await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(agent, url)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(CONNECTIONS);
  expect(responses).toHaveLength(CONNECTIONS);
  // Responses end shortly after their last byte was read. A connection that held its last one would hold it for ever.
  await expect
    .poll(() => {
      collectGarbage();
      return responses.filter((response) => response.deref() !== undefined).length;
    })
    .toBe(0);
});
