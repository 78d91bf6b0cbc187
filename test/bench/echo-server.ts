/** The baseline: a bare Fastify route that echoes its JSON body, in its own process. Prints its port. */
import Fastify from 'fastify';

const server = Fastify({ logger: false });
server.post('/echo', async (request) => request.body);
await server.listen({ host: '127.0.0.1', port: 0 });
console.log((server.server.address() as { port: number }).port);
process.on('SIGTERM', () => void server.close());
