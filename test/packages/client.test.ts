import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../style/source-files.ts';
import { ENVIRONMENT, install, run, tarballOf } from './installed.ts';

const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url));

/** The folder of a stranger, with the package and the one that it needs. */
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-client-'));
  await install(folder, tarballOf('@tapwire/client'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the packed client is installed in an empty folder, and calls a gateway', async () => {
  const asked: unknown[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push([url, headers['x-api-key']]);
    response.setHeader('content-type', 'application/json').end('{"id":7}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  writeFileSync(
    join(folder, 'use.mjs'),
    `import { createClient } from '@tapwire/client';
     import { sealCardData } from '@tapwire/client/schemas/seal-card-data';
     const client = createClient({ baseUrl: 'http://127.0.0.1:${port}', credentials: { apiKey: 'tw_test_1_2' } });
     console.log(await client.getOwnAcquirer(), typeof sealCardData);`,
  );
  const { stdout } = await run(process.execPath, ['use.mjs'], { cwd: folder });
  server.close();
  expect(stdout).toBe('{ id: 7 } function\n');
  expect(asked).toEqual([['/acquirers/me', 'tw_test_1_2']]);
});

test('the sample of a shop starts with it', async () => {
  copyFileSync(join(ROOT, 'samples/shop.mjs'), join(folder, 'shop.mjs'));
  const shop = spawn(process.execPath, ['shop.mjs'], { cwd: folder, env: { ...ENVIRONMENT, PORT: '0', GATEWAY: '' } });
  expect(String(await once(shop.stdout, 'data'))).toMatch(/^The shop listens on port \d+\.$/m);
  shop.kill();
});

test('its types describe the operations', async () => {
  writeFileSync(
    join(folder, 'use.mts'),
    `import { createClient, type Webhook } from '@tapwire/client';
     const client = createClient({ baseUrl: '' });
     export const id: Promise<number> = client.getOwnAcquirer().then((acquirer) => acquirer.id);
     export const disposition = (event: Webhook): string => event.disposition;
     // @ts-expect-error a body is required
     void client.createApplink({});`,
  );
  const settings = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2024,dom'];
  await run(join(MODULES, '.bin/tsc'), [...settings, 'use.mts'], { cwd: folder });
});

test('it contains nothing but the client', () => {
  const names = execFileSync('tar', ['tzf', tarballOf('@tapwire/client')], { encoding: 'utf8' }).split('\n');
  const others = names.filter(
    (name) =>
      name && !/^package\/(dist\/(package\/index|[\w-]+)\.(js|d\.ts)$|README\.md|LICENSE|package\.json)/.test(name),
  );
  expect(others).toEqual([]);
});
