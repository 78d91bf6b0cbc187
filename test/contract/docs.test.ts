import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENUMS, enums } from '../../schemas/enums.ts';
import openApi from '../../schemas/openapi.json' with { type: 'json' };
import { writeProfile } from '../../src/tools/phone/profile.ts';
import { type ApiDocument, type NamedOperation, operationsOf, ownParameters } from '../support/api-document.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { sellApproved } from '../support/refunds.ts';
import { request } from '../support/requests.ts';

type LiveDocument = ApiDocument & { readonly 'x-credentials'?: Readonly<Record<string, string>> };

let folder: string;
let installation: Installation;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-docs-'));
  const path = join(folder, 'demo.json');
  installation = await startInstallation({ settings: { DOCS_PROFILE: path, LOG_LEVEL: 'warn' } });
  const owner = { acquirerId: 1, merchantId: installation.profile().merchant.id };
  const { username } = await savePortalUser(installation.database, owner, 'admin');
  const login = { username, password: PASSWORD };
  const apiKey = await installation.apiKey();
  const scopes = `update api_keys set scopes = scopes || '{devices:manage}' where id = $1`;
  await installation.database.query(scopes, [apiKey.split('_')[2]]);
  writeProfile(path, { ...installation.profile(), apiKey, login });
});
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true });
});

const get = (path: string) => request(installation.url, path);
const liveDocument = async () => (await get('/docs/openapi.json')).body as LiveDocument;

/** The paths of this server that a page links to, without fragments. */
const linksOf = (html: string) => new Set([...html.matchAll(/(?:src|href)="(\/[^"#]*)/g)].map(([, path]) => path!));

describe('the API reference', () => {
  test('has a page for each operation and schema, and no link leads nowhere', async () => {
    const pages = new Set(['/docs']);
    const ids = new Map<string, Set<string>>();
    const targets: string[] = [];
    for (const path of pages) {
      // A reader on another machine gets pages without live examples.
      const page = await request(installation.url, path, { headers: { via: '1.1 proxy.example' } });
      expect(page.status, path).toBe(200);
      if (!String(page.headers.get('content-type')).startsWith('text/html')) continue;
      const html = String(page.body);
      expect(/undefined|\[object|NaN/.exec(html)?.[0], path).toBeUndefined();
      for (const link of linksOf(html)) pages.add(link);
      const anchors = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
      expect(anchors.length, `${path} repeats an id`).toBe(new Set(anchors).size);
      ids.set(path, new Set(anchors));
      for (const [, target, id] of html.matchAll(/href="(\/docs[^"#]*)?#([^"]+)"/g))
        targets.push(`${target ?? path}#${id}`);
    }
    const { paths, components } = await liveDocument();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    for (const { operationId } of operations) expect(pages).toContain(`/docs/operations/${operationId}`);
    for (const name of Object.keys(components.schemas)) expect(pages).toContain(`/docs/schemas/${name}`);
    const index = (await get('/docs/search.json')).body as readonly (readonly string[])[];
    const wanted = new Set([...targets, ...index.map((entry) => entry[3]!)]);
    const dead = [...wanted].filter((target) => {
      const [path, id] = target.split('#');
      return !(id === undefined ? ids.has(path!) : ids.get(path!)?.has(id));
    });
    expect(dead).toEqual([]);
  });

  test('has the guides and a glossary, whose parts can be found, and lists deprecated operations last', async () => {
    const guide = String((await get('/docs/guides/accept-payments')).body);
    expect(guide).toContain('<h2 id="7-refund-or-void">7. Refund or void</h2>');
    expect(guide).toContain('<a href="/docs/errors#error-codes">error codes</a>');
    expect(guide).toMatch(/<pre><code>refund\(\) \{\n {2}curl -fsS -i -H &quot;x-api-key/);
    expect(String((await get('/docs/guides/submit-a-tap')).body)).toMatch(/<ol>\s*<li><p><strong>Start a gateway/);
    expect(String((await get('/docs/guides/glossary')).body)).toContain('<td>reversal</td>');
    expect((await get('/docs/guides/nothing')).status).toBe(404);
    const index = (await get('/docs/search.json')).body as readonly (readonly string[])[];
    expect(index).toContainEqual(expect.arrayContaining(['guide', '8. Handle errors']));
    const [, listed = ''] = String((await get('/docs')).body).split('<h2 id="operations">');
    const at = (id: string) => listed.indexOf(`/docs/operations/${id}`);
    expect(at('createDeepLink')).toBeGreaterThan(at('acknowledgeLink'));
  });

  test('shows every code of each error response', async () => {
    const operation = operationsOf(openApi as unknown as ApiDocument).find(
      ({ path }) => path === '/transactions/mobile',
    )!;
    const described = Object.values(operation.responses).flatMap(
      ({ description }) => description.match(/\b\d{3}\b/g) ?? [],
    );
    const html = String((await get('/docs/operations/submitTap')).body);
    const linked = [...html.matchAll(/href="\/docs\/errors#(\d+)"/g)].map(([, code]) => code!);
    expect(new Set(linked)).toEqual(new Set(described));
    expect(linked).toContain('124');
  });

  test('has a collection with every operation, whose requests are those of the commands', async () => {
    type Item = {
      request: { method: string; header: { key: string; value: string; disabled?: true }[]; url: { raw: string } };
    };
    const collection = (await get('/docs/postman.json')).body as {
      variable: { key: string; value: string }[];
      item: { item: Item[] }[];
    };
    const requests = collection.item.flatMap(({ item }) => item.map((each) => each.request));
    const { paths } = await liveDocument();
    const named = requests.map(({ method, url }) => `${method} ${url.raw.replace('{{baseUrl}}', '').split('?')[0]}`);
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(named.sort()).toEqual(described.sort());
    const variables = new Map(collection.variable.map(({ key, value }) => [key, value]));
    expect(variables.get('apiKey')).toMatch(/^tw_test_/);
    const used = JSON.stringify(requests).matchAll(/\{\{(\w+)\}\}/g);
    for (const [, name] of used) expect(variables.has(name!), name).toBe(true);
    const remote = await request(installation.url, '/docs/postman.json', { headers: { via: '1.1 proxy.example' } });
    expect(JSON.stringify(remote.body)).not.toMatch(/tw_test_[A-Za-z0-9]/);
  });

  test('has no page of an unknown operation or schema', async () => {
    for (const path of ['/docs/operations/nothing', '/docs/schemas/constructor', '/docs/operations/%3Cscript%3E']) {
      expect((await get(path)).status, path).toBe(404);
    }
  });

  test('has commands that run unchanged', async () => {
    const html = String((await get('/docs/operations/createApplink')).body);
    const text = /<pre id="curl"><code>([^<]+)/.exec(html)![1]!;
    const command = text.replace(
      /&(amp|quot|#39);/g,
      (_, name) => ({ amp: '&', quot: '"', '#39': "'" })[name as 'amp'],
    );
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -sS`]);
    expect(JSON.parse(stdout)).toHaveProperty('reference');
  });

  test('is a page with a strict policy, and loads nothing from other origins', async () => {
    const page = await get('/docs');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const html = String(page.body);
    expect(html).not.toMatch(/<script>|<style|style=|\son\w+=|(?:src|href|action)="(?:https?:)?\/\//);
    const parts = [...html.matchAll(/<(?:script|link)[^>]+(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
    expect(parts.length).toBeGreaterThanOrEqual(5);
    for (const part of parts) expect((await get(part)).status, part).toBe(200);
  });

  test('has a row for every code that a problem can have', async () => {
    const html = String((await get('/docs/errors')).body);
    for (const { code, name } of ENUMS.errorCodes)
      expect(html).toContain(`<tr id="${code}"><td>${code}</td><td>${name}</td>`);
    expect(html).toContain('<td>404 to 405</td>');
    expect(html).not.toContain('undefined');
  });

  test('is the target of the type of a problem', async () => {
    const { type } = (await get('/nothing')).body as { type: string };
    const target = new URL(type, installation.url);
    const page = await get(target.pathname);
    expect(page.status).toBe(200);
    expect(String(page.body)).toContain(`<tr id="${target.hash.slice(1)}">`);
  });

  test('has a table with the credentials that each route accepts', async () => {
    const [, text = ''] = String((await get('/docs')).body).split('id="credentials-for-each-operation"');
    const { paths } = await liveDocument();
    for (const path of Object.keys(paths)) expect(text).toContain(` ${path}</code></a></td><td>`);
    expect(text).toContain(
      ' /integrator/callbackUrl</code></a></td><td>API key of integrator (<code>webhooks:manage</code>) and merchant JWT or login token</td>',
    );
    expect(text).not.toContain('<td></td>');
  });
});

test('/enums lists every closed list with its meanings', async () => {
  const response = await get('/enums');
  expect(enums.parse(response.body)).toEqual(ENUMS);
  expect(response.headers.get('cache-control')).toBe('public, max-age=3600');
});

test.each([
  '/openapi.json',
  '/docs/openapi.json',
  '/docs/postman.json',
  '/docs',
  '/docs/schemas/Transaction',
])('%s is sent once to a reader who has it', async (path) => {
  const headers = { via: '1.1 proxy.example' };
  const first = await request(installation.url, path, { headers });
  expect(first.status).toBe(200);
  const tag = first.headers.get('etag')!;
  const again = await request(installation.url, path, { headers: { ...headers, 'if-none-match': tag } });
  expect({ status: again.status, tag: again.headers.get('etag') }).toEqual({ status: 304, tag });
});

describe('the credentials of a demo', () => {
  test('are for callers on this machine, at its own addresses', async () => {
    const asked = (host: string, more: Record<string, string> = {}) =>
      new Promise<string>((resolve, reject) => {
        const { port } = new URL(installation.url);
        const sent = httpRequest(
          { host: '127.0.0.1', port, path: '/docs/openapi.json', headers: { host, ...more } },
          (response) => {
            let text = '';
            response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text));
          },
        );
        sent.on('error', reject).end();
      });
    expect(await asked('localhost:8080')).toContain('"x-credentials"');
    expect(await asked('localhost:8080', { 'x-forwarded-for': '203.0.113.9' })).not.toContain('x-credentials');
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io:8080', '10.0.0.1']) {
      const text = await asked(host);
      expect(text).toContain('"openapi":"3.1.1"');
      expect(text).not.toContain('x-credentials');
      expect(text).not.toMatch(/tw_test_[A-Za-z0-9]/);
    }
  });

  test('are not in the description that integrators read', async () => {
    expect(JSON.stringify((await get('/openapi.json')).body)).not.toMatch(/x-credentials|tw_test_[A-Za-z0-9]/);
  });
});

test('a kernel team taps with the commands of schemas/READERS.md', async () => {
  const text = await readFile(new URL('../../schemas/READERS.md', import.meta.url), 'utf8');
  const script = /<<'END'\n([\s\S]+?)\n *END\n/.exec(text)![1]!;
  const cwd = fileURLToPath(new URL('../../', import.meta.url));
  const args = ['--input-type=module-typescript', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd,
    env: { ...process.env, GATEWAY: installation.url },
  });
  expect(stdout).toMatch(/^200 .*"type":"Approved"/);
});

/**
 * Operations that require a key of the acquirer, a tap that waits for its PIN, or an event. A demo has these and this
 * test does not.
 */
const BEYOND_THEM =
  /^\/acquirers\/\{|^\/acquirers$|^\/audit|^\/users|^\/hsm-keys|submitPinMobile$|\{id\}\/(replay|attempts)/;

test('no pattern needs an engine flag: pages and generators compile patterns without flags', () => {
  const patterns = JSON.stringify(openApi).matchAll(/"pattern":("(?:[^"\\\\]|\\\\.)*")/g);
  for (const [, text] of patterns) {
    const pattern = JSON.parse(text!) as string;
    expect(pattern).not.toMatch(/\\[pP]\{|\\u\{/);
    expect(() => [new RegExp(pattern), new RegExp(pattern, 'u')], pattern).not.toThrow();
  }
});

test('every example can be sent unchanged, with the credentials next to it', async () => {
  for (let sold = 0; sold < 2; sold++) await sellApproved(installation, '100.00');
  const document = await liveDocument();
  const wanted = operationsOf(document).filter(({ path, method }) => method !== 'DELETE' && !BEYOND_THEM.test(path));
  const tried: string[] = [];
  for (const operation of wanted) {
    const { method, path } = operation;
    const { status, body } = await sendExample(operation, document['x-credentials']!);
    expect(status, `${method} ${path}: ${JSON.stringify(body).slice(0, 500)}`).toBeLessThan(300);
    tried.push(`${method} ${path}`);
  }
  expect(tried).toEqual(
    expect.arrayContaining([
      'POST /transactions/mobile',
      'GET /transactions',
      'GET /transactions/{id}',
      'POST /transactions/{id}/refund',
      'POST /transactions/{id}/void',
      'POST /consumer/applink',
      'POST /login',
      'POST /mobile/proximity-token',
      'GET /terminal/config',
      'GET /consumer/QRCode/{reference}',
      'GET /consumer/tt3QRCode/{reference}',
      'GET /consumer/taponown/{merchantReference}',
      'POST /consumer/intentSession/transactions',
      'POST /consumer/push',
    ]),
  );
});

test('a push of the demo, which has no push service, is in the log that its terminal shows', () => {
  const lines = installation.logLines.filter(
    ({ msg }) => msg === 'push not sent to a device, no push service is configured',
  );
  expect(lines).toEqual([expect.objectContaining({ reference: expect.any(String) })]);
});

function sendExample(operation: NamedOperation, credentials: Readonly<Record<string, string>>) {
  const { method, path, security, requestBody } = operation;
  const schemes = security.flatMap((requirement) => Object.keys(requirement));
  const token = schemes.find((scheme) => scheme !== 'apiKey' && scheme in credentials);
  const parameters = ownParameters(operation).filter(({ required }) => required);
  const values = new Map(parameters.map(({ name, example }) => [name, String(example)]));
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => values.get(name) ?? randomUUID());
  const headers = parameters
    .filter((parameter) => parameter.in === 'header')
    .map(({ name }) => [name, values.get(name)!]);
  const example = requestBody?.content['application/json']?.example;
  return request(installation.url, address, {
    method,
    headers: {
      ...Object.fromEntries(headers),
      ...(schemes.includes('apiKey') && { 'x-api-key': credentials.apiKey }),
      ...(token && { authorization: `Bearer ${credentials[token]}` }),
      ...(requestBody && { 'content-type': 'application/json' }),
    },
    ...(requestBody && { body: JSON.stringify(example) }),
  });
}
