import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StartError } from '../../src/errors.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';
import type { SwitchConfig } from '../../src/processor-kit/switch-config.ts';
import { demoHsm } from '../../src/simulator/demo-hsm.ts';
import { Disposition } from '../../src/transactions/disposition.ts';
import { createIdentity } from '../connection/certificates.ts';
import { outcomeOf } from '../support/answers.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../support/installation.ts';
import { ScriptedSwitch, type ScriptedSwitchOptions } from '../support/scripted-switch.ts';
import { letTimePass } from '../support/transactions.ts';

const ACCEPT_ANYWHERE = { host: '127.0.0.1', port: 1, maxConnections: 1 };

const authority = createIdentity('Test authority');
const switchIdentity = createIdentity('switch', authority);
const gatewayIdentity = createIdentity('gateway', authority);

let folder: string;
const closers: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-lines-'));
  closers.push(() => rmSync(folder, { recursive: true }));
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function scriptedSwitch(options: ScriptedSwitchOptions = {}): Promise<ScriptedSwitch> {
  const scripted = await ScriptedSwitch.open(options);
  closers.push(() => scripted.close());
  return scripted;
}

/** With one acquirer alone: two of them cannot listen on one port. */
async function install({ role = 'all', ...options }: InstallationOptions): Promise<Installation> {
  const installation = await startInstallation({ ...options, role: 'none' });
  closers.push(() => installation.stop());
  for (const table of ['routes', 'processors'])
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
  if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
  return installation;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function expectApproved(installation: Installation): Promise<void> {
  const answer = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
  expect(outcomeOf(answer).type).toBe('Approved');
}

describe('a line is opened as its switch is configured', () => {
  test('over TLS, to a switch that proves itself and wants the same of us', async () => {
    const server = tls.createServer({
      ...switchIdentity,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const scripted = await scriptedSwitch({ server });
    const secure = {
      serverName: 'localhost',
      caFile: fileOf('ca.pem', authority.cert),
      certFile: fileOf('cert.pem', gatewayIdentity.cert),
      keyFile: fileOf('key.pem', gatewayIdentity.key),
    };
    const installation = await install({ connectTo: async () => scripted.port, config: { tls: secure } });
    await expectApproved(installation);
    expect((scripted.lines[0]!.socket as tls.TLSSocket).getPeerCertificate().subject.CN).toBe('gateway');
  });

  test('with as many connections to each address as it allows', async () => {
    const scripted = await scriptedSwitch();
    await install({ connectTo: async () => scripted.port, config: { connectionsPerAddress: 3 } });
    await eventually(() => expect(scripted.signOns).toHaveLength(3));
  });

  test('by the switch, which connects to us', async () => {
    const scripted = await scriptedSwitch();
    const port = await freePort();
    const accept = { host: '127.0.0.1', port, maxConnections: 2 };
    const installation = await install({ role: 'none', config: { addresses: [], accept } });
    await installation.startGateway({}, { isSwitchDown: true });
    scripted.join(connect(port, '127.0.0.1'));
    await eventually(async () => expect((await installation.switchStats()).ready).toBe(1));
    await expectApproved(installation);
  });

  test('by the switch over TLS, each side proving itself', async () => {
    const scripted = await scriptedSwitch();
    const port = await freePort();
    const secure = {
      caFile: fileOf('ca.pem', authority.cert),
      certFile: fileOf('cert.pem', gatewayIdentity.cert),
      keyFile: fileOf('key.pem', gatewayIdentity.key),
    };
    const accept = { host: '127.0.0.1', port, maxConnections: 2 };
    const installation = await install({ role: 'none', config: { addresses: [], accept, tls: secure } });
    await installation.startGateway({}, { isSwitchDown: true });
    scripted.join(tls.connect({ port, host: '127.0.0.1', ...switchIdentity, ca: authority.cert }));
    await eventually(async () => expect((await installation.switchStats()).ready).toBe(1));
    await expectApproved(installation);
  });

  test('anew when its port changes, also where we listen', async () => {
    const scripted = await scriptedSwitch();
    const [first, second] = [await freePort(), await freePort()];
    const accept = { host: '127.0.0.1', port: first, maxConnections: 1 };
    const installation = await install({ role: 'none', config: { addresses: [], accept } });
    await installation.startGateway({}, { isSwitchDown: true });
    await installation.database.query(
      `update processors set config = jsonb_set(config, '{accept,port}', $1::text::jsonb)`,
      [second],
    );
    await eventually(async () => {
      scripted.join(connect(second, '127.0.0.1'));
      expect((await installation.switchStats()).ready).toBe(1);
    });
    await expectApproved(installation);
  });
});

describe('a gateway does not start with a switch that it cannot serve', () => {
  test.each<[string, Partial<SwitchConfig>, RegExp]>([
    ['that is to be reached nowhere', { addresses: [] }, /neither addresses to connect to, nor accept/],
    ['whose certificates are not there', { tls: { caFile: '/nowhere/ca.pem' } }, /tls\.caFile .* cannot be read/],
    ['with a certificate and no key', { tls: { certFile: '/nowhere/cert.pem' } }, /go together/],
    [
      'that connects over TLS to a gateway without a certificate',
      { accept: ACCEPT_ANYWHERE, tls: {} },
      /needs tls\.certFile/,
    ],
  ])('%s', async (_what, config, reason) => {
    const installation = await install({ role: 'none', config });
    await expect(refusalOf(installation)).resolves.toMatch(reason);
    await expect(refusalOf(installation)).resolves.toMatch(/^processor 1 of acquirer 1/);
  });

  test('with certificates that are none', async () => {
    const caFile = fileOf('ca.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    const installation = await install({ role: 'none', config: { tls: { caFile } } });
    expect(await refusalOf(installation)).toMatch(/its tls files cannot be used/);
  });

  test('that wants MACs, without an HSM or without the keys in it', async () => {
    const config = { macKeys: [{ number: 1, keyId: 'absent' }], pinKey: undefined };
    const installation = await install({ role: 'none', config });
    expect(await refusalOf(installation, { HSM_KEYS_FILE: undefined })).toMatch(/no HSM .* set HSM_MODULE/);
    const HSM_KEYS_FILE = fileOf('keys.json', JSON.stringify({ keys: [] }));
    expect(await refusalOf(installation, { HSM_KEYS_FILE })).toMatch(/refuses a key of macKeys \(absent\)/);
  });

  test('but goes on without one that was stored wrong while it runs, and says so once', async () => {
    const scripted = await scriptedSwitch();
    const installation = await install({ connectTo: async () => scripted.port });
    await installation.database.query(
      `insert into processors (acquirer_id, id, type, config) values (1, 2, 'type-1', '{"acquirerId": "50001"}')`,
    );
    const told = () => installation.logLines.filter(({ msg }) => msg === 'a processor cannot be opened');
    await eventually(() => expect(told()).toMatchObject([{ reason: expect.stringContaining('processor 2') }]));
    await expectApproved(installation);
    expect(told()).toHaveLength(1);
  });
});

describe('MACs', () => {
  const macKeys = [{ number: 7, keyId: 'mac-7' }];

  async function installWithMacs(): Promise<{ installation: Installation; scripted: ScriptedSwitch }> {
    const { exampleConfig } = (await loadProcessors()).get('type-1')!;
    const config = { ...exampleConfig, macKeys };
    const hsm = demoHsm([config], 'dev');
    const scripted = await scriptedSwitch({ config, macKeys: (keyId, method) => hsm.keyMac(keyId, method) });
    const installation = await install({ connectTo: async () => scripted.port, config: { macKeys } });
    return { installation, scripted };
  }

  test('are made and checked with the keys of the HSM', async () => {
    const { installation, scripted } = await installWithMacs();
    await expectApproved(installation);
    expect(scripted.requests[0]?.message.mac).toBeInstanceOf(Uint8Array);
    expect(await installation.switchStats()).toMatchObject({ badMacs: 0 });
  });

  test('that are bad three times in a row have the line sign on anew; twice, and then a good one, do not', async () => {
    const { installation, scripted } = await installWithMacs();
    const tap = async (isMacSpoilt: boolean) => {
      scripted.onRequest = ({ message, answer }) => answer({}, { isMacSpoilt: isMacSpoilt && message.mti === '0200' });
      const { type } = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
      expect(type).toBe(isMacSpoilt ? 'Indeterminate' : 'Approved');
    };
    for (const isBad of [true, true, false]) await tap(isBad);
    await expectApproved(installation);
    expect(scripted.signOns).toHaveLength(1);
    expect(await installation.switchStats()).toMatchObject({ badMacs: 2 });
  });

  test('that do not agree keep the line signing on, and taps are Indeterminate and reversed, never approved', async () => {
    const { installation, scripted } = await installWithMacs();
    scripted.onRequest = ({ answer }) => answer({}, { isMacSpoilt: true });
    const ids = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const answer = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
        expect(answer.type).toBe('Indeterminate');
        return answer.serviceReference;
      }),
    );
    await eventually(() => expect(scripted.signOns.length).toBeGreaterThan(1));
    // A reversal's acknowledgement with a bad MAC is none: it is repeated.
    await eventually(() => expect(scripted.of('0420')).toHaveLength(3));
    await eventually(async () => {
      for (const id of ids) await letTimePass(installation.database, id, 5);
      expect(scripted.of('0421').length).toBeGreaterThanOrEqual(3);
    });
    const { rows } = await installation.database.query('select distinct disposition from transactions');
    expect(rows).toEqual([{ disposition: Disposition.Indeterminate }]);
  });
});

/** Why a gateway of the installation does not start. */
async function refusalOf(installation: Installation, settings: NodeJS.ProcessEnv = {}): Promise<string> {
  const error = await installation.startGateway(settings).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StartError);
  return (error as StartError).reason;
}
