import { chmodSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyRing } from '../../../src/card/change-key-ring.ts';
import { examine } from '../../../src/cli/doctor.ts';
import { readConfig } from '../../../src/start/config.ts';
import type { Finding } from '../../../src/tools/doctor/finding.ts';
import { listen, stopListening } from '../../../src/tools/simulator/listening.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';

const NOW_MS = Date.now();

let installation: Installation;
let keysFile: string;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-doctor-'));
  keysFile = join(folder, 'keys.json');
  await createKeyRing(keysFile);
  installation = await startInstallation({ role: 'none' });
});
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true, force: true });
});

const look = (settings: NodeJS.ProcessEnv = {}, nowMs = NOW_MS) =>
  examine(readConfig({ ...installation.environment(), TAPWIRE_KEYS_FILE: keysFile, ...settings }), nowMs);
const faultsOf = (findings: readonly Finding[]) => findings.filter(({ verdict }) => verdict === 'fault');
const reported = (findings: readonly Finding[]) =>
  findings.map(({ part, description }) => `${part}: ${description}`).join('\n');

describe('tapwire doctor', () => {
  test('finds no fault in an installation whose switches respond', async () => {
    const findings = await look();
    expect(faultsOf(findings)).toEqual([]);
    expect(reported(findings)).toContain('schema up to date');
    expect(reported(findings)).toMatch(/\d+ partitions of transactions need up to \d+ of the \d+ locks of the server/);
    expect(reported(findings)).toMatch(/clock: \d+ ms from the database's/);
    expect(reported(findings)).toMatch(/processor 1 of acquirer 1: 127\.0\.0\.1:\d+ accepts connections/);
  });

  test('names a switch that accepts no connection, and a processor whose settings are invalid', async () => {
    const { database } = installation;
    await database.query(`insert into processors (acquirer_id, id, type, config) values
      (1, 90, 'type-1', (select config || '{"addresses":[{"host":"127.0.0.1","port":1}]}' from processors where acquirer_id = 1 and id = 1)),
      (1, 91, 'type-1', '{"adresses":[]}'), (1, 92, 'no-such-type', '{}')`);
    const findings = faultsOf(await look());
    await database.query('delete from processors where acquirer_id = 1 and id >= 90');
    expect(reported(findings)).toMatch(/processor 90 of acquirer 1: 127\.0\.0\.1:1 accepts no connection/);
    expect(reported(findings)).toMatch(/processor 91 of acquirer 1: .*adresses/s);
    expect(reported(findings)).toMatch(/processor 92 of acquirer 1: unknown processor type no-such-type/);
    expect(findings).toHaveLength(3);
  });

  test('distinguishes a switch that never responds to sign-on from one that works, by the gateway that runs', async () => {
    const { database } = installation;
    await database.query(`insert into processors (acquirer_id, id, type, config)
      select 1, 90, type, config from processors where acquirer_id = 1 and id = 1`);
    let switches: Record<string, string> = { '1 1': 'ready', '1 90': 'connecting' };
    const gateway = createServer((_request, response) => response.end(JSON.stringify({ switches })));
    const PORT = String(await listen(gateway, 0, '127.0.0.1'));
    const findings = reported(await look({ PORT }));
    switches = { '1 1': 'ready', '1 90': 'full' };
    const later = await look({ PORT });
    await stopListening(gateway);
    await database.query('delete from processors where acquirer_id = 1 and id = 90');
    expect(findings).toMatch(
      /processor 1 of acquirer 1: 127\.0\.0\.1:\d+ accepts connections, the gateway is signed on/,
    );
    expect(findings).toMatch(
      /processor 90 of acquirer 1: 127\.0\.0\.1:\d+ accepts connections, but no connection of the gateway is signed on/,
    );
    expect(faultsOf(later)).toEqual([]);
    expect(reported(await look({ PORT }))).toMatch(
      /accepts connections; sign-on is unknown, because no gateway responds here/,
    );
  });

  test('names what a processor reaches that is not its acquirer’s, and does not connect to it', async () => {
    const findings = faultsOf(await look({ SWITCH_NETWORKS: '2=127.0.0.1' }));
    expect(reported(findings)).toMatch(
      /^processor 1 of acquirer 1: addresses\.0\.host: an address that the operator has not/,
    );
    expect(findings).toHaveLength(1);
  });

  test('names what a newer version has changed in the schema', async () => {
    const { database } = installation;
    await database.query(`insert into migrations (name, run_on) values ('9999_newer', now())`);
    const findings = await look();
    await database.query(`delete from migrations where name = '9999_newer'`);
    expect(reported(findings)).toMatch(/database: a newer version has changed the schema: .* 9999_newer/);
  });

  test('names an issuer that several acquirers have registered', async () => {
    const { database } = installation;
    expect(reported(await look())).toContain('issuers: each is registered by one acquirer');
    await database.query(`insert into issuer_keys (issuer, kid, acquirer_id, integrator_id, algorithms, public_key, proven_at)
      select issuer, 'copied', 2, 20, algorithms, public_key, proven_at from issuer_keys where acquirer_id = 1 limit 1`);
    const findings = await look();
    await database.query(`delete from issuer_keys where kid = 'copied'`);
    expect(reported(findings)).toMatch(/issuer \S+: acquirers 1, 2 have registered it/);
  });

  test('names the acquirers to whom a refused user name reveals users of others', async () => {
    expect(reported(await look())).toContain('user names: a refused name reveals users of other acquirers to 1, 2');
    const apart = await look({ LOGIN_DOMAINS: '1=bank.example,2=pay.example' });
    expect(reported(apart)).toContain('user names: none is revealed to another acquirer');
  });

  test('describes how clients reach the installation, and what is publicly accessible', async () => {
    expect(reported(await look())).toContain('https: is not required in dev');
    const qa = { TAPWIRE_ENV: 'qa', BASE_URL: 'https://api.example', APP_URL: 'https://pay.example' };
    const narrow = reported(await look({ ...qa, TRUSTED_PROXIES: '10.0.0.7', METRICS_TOKEN: 'a scraper shows this' }));
    expect(narrow).toContain('https: 10.0.0.7 must send X-Forwarded-Proto: https; other clients are refused');
    expect(narrow).toContain('addresses: links begin with https://pay.example');
    const wide = await look({ ...qa, TRUSTED_PROXIES: '10.0.0.0/7' });
    const warnings = reported(wide.filter(({ verdict }) => verdict === 'warning'));
    expect(warnings).toContain('proxies: TRUSTED_PROXIES has 10.0.0.0/7');
    expect(warnings).toContain('figures: /metrics and the switches');
  });

  test('names a switch that is silent to taps while its connections work', async () => {
    const gateway = await installation.startGateway();
    const taps = (count: number, amount: string) =>
      Promise.all(Array.from({ length: count }, () => installation.phone().tap({ amount, currency: 'ZAR' })));
    await taps(12, '10.00');
    await taps(3, '10.69');
    expect(reported(await look())).toContain('responses: switches respond');
    await taps(1, '10.69');
    expect(reported(faultsOf(await look()))).toBe(
      'responses: processor 1 of acquirer 1 gave no usable response to 4 of the last 16 taps',
    );
    await gateway.stop();
    await installation.database.query('delete from transactions');
  });

  test('names what waits for a person', async () => {
    const { database } = installation;
    expect(reported(await look())).toContain('callbacks: none is disabled');
    await database.query(`insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret, disabled_at)
      values (1, gen_random_uuid(), 10, 'links', 'https://example.com', '', now())`);
    const findings = await look();
    expect(reported(findings.filter(({ verdict }) => verdict === 'warning'))).toContain('callbacks: 1 are disabled');
  });

  test('names a key file that others may read, and old keys', async () => {
    chmodSync(keysFile, 0o644);
    utimesSync(keysFile, new Date(), new Date(NOW_MS - 400 * 86_400_000));
    const findings = await look();
    chmodSync(keysFile, 0o600);
    expect(reported(faultsOf(findings))).toMatch(/can be accessed by other users \(mode 644\)/);
    expect(reported(findings.filter(({ verdict }) => verdict === 'warning'))).toContain(
      'no key was changed for 400 days',
    );
  });

  test('names a certificate that cannot be read, and a missing key file', async () => {
    const findings = await look({
      TLS_CERT_FILE: join(folder, 'none.pem'),
      TLS_KEY_FILE: keysFile,
      TAPWIRE_KEYS_FILE: join(folder, 'none.json'),
    });
    expect(
      faultsOf(findings)
        .map(({ part }) => part)
        .sort(),
    ).toEqual(['https', 'keys']);
  });

  test('reports a missing database, and continues with the other checks', async () => {
    const findings = faultsOf(await look({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }));
    expect(findings.map(({ part }) => part)).toEqual(['database']);
  });
});
