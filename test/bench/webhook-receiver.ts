/** Accepts webhooks at every address except /hanging, where it does not respond. Prints its port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.resume();
  if (request.url !== '/hanging') response.writeHead(204).end();
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
