import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { providerFindings } from '../../../src/tools/doctor/front-findings.ts';

type Change = (document: Record<string, unknown>) => unknown;

async function providerThat(change: Change = (document) => document, keys: unknown = [{ kty: 'RSA' }]) {
  const respond: RequestListener = ({ url }, response) => {
    const complete = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    };
    response.end(JSON.stringify(url === '/jwks' ? { keys } : change(complete)));
  };
  const server = createServer(respond).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => void server.close());
  return issuer;
}

async function linesOf(issuer: string | undefined, offsetMs = 0): Promise<string[]> {
  const findings = await providerFindings(issuer, () => Date.now() + offsetMs);
  return findings.map(({ verdict, description }) => `${verdict} ${description.replaceAll(issuer!, 'ISSUER')}`);
}

test('nothing is examined without a provider, and one that works has no fault', async () => {
  expect(await linesOf(undefined)).toEqual([]);
  expect(await linesOf(await providerThat())).toEqual(['good ISSUER responds']);
  expect(await linesOf(await providerThat(), 20_000)).toEqual(['good ISSUER responds']);
});

test('a document of another issuer, without endpoints or without keys is a fault', async () => {
  const other = await providerThat((document) => ({ ...document, issuer: `${document.issuer}/` }));
  expect(await linesOf(other)).toEqual(['fault the document at ISSUER is of another issuer']);
  const incomplete = await providerThat(({ issuer }) => ({ issuer, jwks_uri: `${issuer}/jwks` }));
  expect(await linesOf(incomplete)).toEqual(['fault its document lacks authorization_endpoint, token_endpoint']);
  const keyless = await providerThat(undefined, []);
  expect(await linesOf(keyless)).toEqual(['fault it publishes no keys, so no ID token can be verified']);
});

test('a clock that differs so much that tokens are refused is a fault', async () => {
  expect(await linesOf(await providerThat(), 90_000)).toEqual([
    expect.stringMatching(/^fault its clock is (89|90|91) s behind the clock of this machine$/),
  ]);
});

test('no response, and a response that is no document, name the address and the cause', async () => {
  const unusable = await providerThat(() => 'text');
  expect(await linesOf(unusable)).toEqual([
    'fault ISSUER/.well-known/openid-configuration gives no usable response (no JSON)',
  ]);
  expect(await linesOf('http://127.0.0.1:1')).toEqual([
    expect.stringMatching(/^fault ISSUER\S+ gives no usable response \(\w+\)$/),
  ]);
});
