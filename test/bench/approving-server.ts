/**
 * Responds to every tap immediately with an approval in a gateway's format, in its own process: measures the limit of
 * the generator. Prints its port.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const { x } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
const keys = JSON.stringify({ keys: [{ kty: 'OKP', crv: 'X25519', kid: 'bench', x, use: 'enc', alg: 'ECDH-ES' }] });
const approval = JSON.stringify({
  onlineAuthorizationResponse: {
    serviceReference: randomUUID(),
    type: 'Approved',
    authorizationCode: '123456',
    tags: [{ tag: '8A', value: '3030' }],
    isSingleTapAndPin: false,
    cardReaderId: 'sample-reader',
    cardReaderTransactionId: '0123456789abcdef',
    amount: 1_000,
    currency: 'ZAR',
    merchantReference: randomUUID(),
    cardScheme: 'Visa',
    cardType: 'Credit',
    maskedPAN: '411111******1111',
    isoResponseCode: '00',
    paymentProviderReference: '632417123456',
  },
});

const server = createServer((request, response) => {
  const body = request.method === 'GET' ? keys : approval;
  request.resume().on('end', () => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
}).listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.on('SIGTERM', () => server.close());
