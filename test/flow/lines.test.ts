import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IsoMessage } from '../../src/kits/processor-kit/index.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { findProcessorFaults } from '../../src/store/switches/processor-reports.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { createIdentity } from '../connection/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../support/installation.ts';
import { outcomeOf } from '../support/responses.ts';
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
  mkdirSync(join(folder, '1'));
  closers.push(() => rmSync(folder, { recursive: true }));
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** In the folder of the first acquirer: the file's name there. */
function fileOf(name: string, text: string): string {
  writeFileSync(join(folder, '1', name), text);
  return name;
}

async function scriptedSwitch(options: ScriptedSwitchOptions = {}): Promise<ScriptedSwitch> {
  const scripted = await ScriptedSwitch.open(options);
  closers.push(() => scripted.close());
  return scripted;
}

/** With one acquirer alone: two of them cannot listen on one port. */
async function install({ role = 'all', ...options }: InstallationOptions): Promise<Installation> {
  const settings = { TLS_FILES_DIR: folder, ...options.settings };
  const installation = await startInstallation({ ...options, settings, role: 'none' });
  closers.push(() => installation.stop());
  for (const table of ['routes', 'processors'])
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
  if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
  return installation;
}

async function expectApproved(installation: Installation): Promise<void> {
  const response = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
  expect(outcomeOf(response).type).toBe('Approved');
}

describe('a connection is opened as its switch is configured', () => {
  test('a connection is opened over TLS, to a switch that authenticates and requires the same of the gateway', async () => {
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

  test('connections to each address are opened up to its limit', async () => {
    const scripted = await scriptedSwitch();
    await install({ connectTo: async () => scripted.port, config: { connectionsPerAddress: 3 } });
    await eventually(() => expect(scripted.signOns).toHaveLength(3));
  });

  test('a connection is opened by the switch, which connects to the gateway', async () => {
    const scripted = await scriptedSwitch();
    const port = await freePort();
    const accept = { host: '127.0.0.1', port, maxConnections: 2 };
    const installation = await install({ role: 'none', config: { addresses: [], accept } });
    await installation.startGateway({}, { isSwitchDown: true });
    scripted.join(connect(port, '127.0.0.1'));
    await eventually(async () => expect((await installation.switchStats()).ready).toBe(1));
    await expectApproved(installation);
  });

  test('a connection is opened by the switch over TLS, each side authenticated', async () => {
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

  test('a connection is opened again when its port changes, also if the gateway listens', async () => {
    const scripted = await scriptedSwitch();
    const [first, second] = [await freePort(), await freePort()];
    const accept = { host: '127.0.0.1', port: first, maxConnections: 1 };
    const installation = await install({ role: 'none', config: { addresses: [], accept } });
    await installation.startGateway({}, { isSwitchDown: true });
    await listenAt(installation, second);
    await eventually(async () => {
      scripted.join(connect(second, '127.0.0.1'));
      expect((await installation.switchStats()).ready).toBe(1);
    });
    await expectApproved(installation);
  });

  test('a connection is opened again on the previous port, after another port was configured and not available', async () => {
    const scripted = await scriptedSwitch();
    const port = await freePort();
    const accept = { host: '127.0.0.1', port, maxConnections: 1 };
    const installation = await install({ role: 'none', config: { addresses: [], accept } });
    await installation.startGateway({}, { isSwitchDown: true });
    await listenAt(installation, scripted.port); // which the switch itself uses
    await eventually(async () => expect(await isListening(port)).toBe(false));
    await listenAt(installation, port);
    await eventually(async () => {
      scripted.join(connect(port, '127.0.0.1'));
      expect((await installation.switchStats()).ready, logOf(installation)).toBe(1);
    });
    await expectApproved(installation);
  });
});

function logOf({ logLines }: Installation): string {
  return logLines
    .slice(-30)
    .map((line) => JSON.stringify(line))
    .join('\n');
}

/** As a change of the processor does; what identifies the switch is then stored again when it is opened. */
async function listenAt({ database }: Installation, port: number): Promise<void> {
  const config = `jsonb_set(config, '{accept,port}', $1::text::jsonb)`;
  await database.query(`update processors set config = ${config}, switch_identity = null`, [port]);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('a gateway runs without a switch that it cannot serve, and reports why', () => {
  test('a gateway reports a switch that it cannot serve in its log, in its readiness and to the command line; the others work, and taps of its routes stay offline', async () => {
    const scripted = await scriptedSwitch();
    const installation = await install({ role: 'none', connectTo: async () => scripted.port });
    symlinkSync('/etc/hostname', join(folder, '1', 'link.pem'));
    const broken: readonly [config: object, reason: RegExp][] = [
      [{ addresses: [] }, /neither addresses to connect to, nor accept/],
      [{ tls: { caFile: 'nowhere.pem' } }, /tls\.caFile nowhere\.pem cannot be read \(ENOENT\)/],
      [{ tls: { caFile: '/etc/hostname' } }, /tls\.caFile: a name below TLS_FILES_DIR/],
      [{ tls: { caFile: '../hostname' } }, /must not leave/],
      [{ tls: { caFile: 'link.pem' } }, /cannot be read \(OUTSIDE\)/],
      [{ tls: { certFile: 'nowhere.pem' } }, /go together/],
      [{ tls: { caFile: fileOf('bad.pem', 'no certificate') } }, /its tls files cannot be used/],
      [{ accept: ACCEPT_ANYWHERE, tls: {} }, /needs tls\.certFile/],
      [
        { macKeys: [{ number: 1, keyId: 'absent' }] },
        /refuses a key of macKeys \(absent\) for x9\.9 or tdes-cbc-mac: /,
      ],
      [{ pinKey: { keyId: 'absent', format: 0, derivation: 'zone' } }, /refuses pinKey \(absent\)/],
      [{ keyExchange: { transportKeyId: 'zmk', keys: ['mac'] } }, /exchanged only if macKeys names/],
      [{ keyExchange: { transportKeyId: 'zmk', keys: ['pin'] } }, /refuses transportKeyId \(zmk\)/],
      [
        { addresses: [{ host: '169.254.169.254', port: 80 }] },
        /addresses\.0\.host: an address that the operator has not/,
      ],
      [{ accept: { host: '0.0.0.0', port: 9_101 } }, /accept\.port: a host and port that the operator has not/],
      [{ macKeys: [{ number: 1, keyId: 'acquirer/2/mac' }] }, /macKeys\.0\.keyId: a key that is not of this acquirer/],
      [{ unknown: true }, /unknown/i],
    ];
    const { rows } = await installation.database.query<{ config: object }>('select config from processors');
    for (const [index, [differing]] of broken.entries())
      await storeProcessor(installation, index + 2, 'type-1', { ...rows[0]!.config, ...differing });
    await storeProcessor(installation, 90, 'no-such-type', {});
    await installation.startGateway({}, { isSwitchDown: true });

    const reported = () => installation.logLines.filter(({ msg }) => msg === 'processor cannot be opened');
    for (const [index, [, reason]] of broken.entries()) {
      expect(reported().find(({ processorId }) => processorId === index + 2)?.reason, `${index}`).toMatch(reason);
    }
    expect(reported().at(-1)).toMatchObject({
      level: 50,
      reason: expect.stringContaining('no processor type no-such-type'),
    });
    await eventually(async () =>
      expect(await readiness(installation)).toMatchObject({ '1 1': 'ready', '1 90': 'unusable' }),
    );
    await expectApproved(installation);

    await installation.database.query('update routes set processor_id = 3 where acquirer_id = 1');
    await eventually(async () => {
      const { type } = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
      expect(type).toBe('UnableToGoOnline');
    });
    expect(await findProcessorFaults(installation.database, 1)).toHaveLength(broken.length + 1);
    expect(reported()).toHaveLength(broken.length + 1);
  });

  test('a gateway reports a switch that it cannot serve also while it runs: existing connections remain, and a corrected processor is opened', async () => {
    const scripted = await scriptedSwitch();
    const installation = await install({ connectTo: async () => scripted.port });
    const setAcquirer = (value: string) =>
      installation.database.query(
        `update processors set config = jsonb_set(config, '{acquirerId}', to_jsonb($1::text)), switch_identity = null
         where id = 1`,
        [value],
      );
    await setAcquirer('not a number');
    await eventually(() =>
      expect(installation.logLines).toContainEqual(expect.objectContaining({ msg: 'processor cannot be opened' })),
    );
    await expectApproved(installation);
    await setAcquirer('50777');
    await eventually(async () => {
      await expectApproved(installation);
      expect(scripted.requests.at(-1)!.message.acquirerId).toBe('50777');
    });
  });

  test('a gateway without an HSM runs without a switch that requires MACs', async () => {
    const installation = await install({
      role: 'none',
      config: { macKeys: [{ number: 1, keyId: 'm' }], pinKey: undefined },
    });
    await installation.startGateway({ HSM_KEYS_FILE: undefined }, { isSwitchDown: true });
    expect(await readiness(installation)).toEqual({ '1 1': 'unusable' });
    expect(installation.logLines).toContainEqual(
      expect.objectContaining({ reason: expect.stringMatching(/no HSM .* set HSM_MODULE/) }),
    );
  });
});

async function readiness(installation: Installation): Promise<Record<string, string>> {
  const response = await fetch(new URL('/readyz', installation.url));
  return ((await response.json()) as { switches: Record<string, string> }).switches;
}

async function storeProcessor(installation: Installation, id: number, type: string, config: object): Promise<void> {
  await installation.database.query(
    'insert into processors (acquirer_id, id, type, config) values (1, $1, $2, $3::text::jsonb)',
    [id, type, JSON.stringify(config)],
  );
}

describe('MACs', () => {
  const macKeys = [{ number: 7, keyId: 'mac-7' }];

  async function installWithMacs(): Promise<{ installation: Installation; scripted: ScriptedSwitch }> {
    const type1 = (await loadProcessors()).get('type-1')!;
    // The MAC of its responses is in DE128, as those of type 1 are, if a field needs the secondary bitmap.
    const processor = { ...type1, mac: { ...type1.mac!, field: ['primaryMac', 'mac'] as const } };
    const config = { ...type1.exampleConfig, macKeys };
    const hsm = demoHsm([config], 'dev');
    const scripted = await scriptedSwitch({ processor, config, macKeys: (keyId, method) => hsm.keyMac(keyId, method) });
    const installation = await install({ connectTo: async () => scripted.port, config: { macKeys } });
    return { installation, scripted };
  }

  test('are made and verified with the keys of the HSM, in the field of the dialect alone', async () => {
    const { installation, scripted } = await installWithMacs();
    await expectApproved(installation);
    expect(scripted.requests[0]?.message.mac).toBeInstanceOf(Uint8Array);
    expect(await installation.switchStats()).toMatchObject({ badMacs: 0 });
    // DE64 is not the field of the MAC in type 1.
    const change = (response: IsoMessage) => {
      for (const name of ['posDataCode', 'switchData']) response[name as 'stan'] = undefined;
    };
    scripted.onRequest = ({ message, respond }) => respond({}, message.mti === '0200' ? { change } : {});
    const { type } = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    expect(type).toBe('Indeterminate');
    expect(await installation.switchStats()).toMatchObject({ badMacs: 1 });
  });

  test('MACs that are bad three times in a row make the connection sign on again; twice, and then a good one, do not', async () => {
    const { installation, scripted } = await installWithMacs();
    const tap = async (isMacSpoilt: boolean) => {
      scripted.onRequest = ({ message, respond }) =>
        respond({}, { isMacSpoilt: isMacSpoilt && message.mti === '0200' });
      const { type } = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
      expect(type).toBe(isMacSpoilt ? 'Indeterminate' : 'Approved');
    };
    for (const isBad of [true, true, false]) await tap(isBad);
    await expectApproved(installation);
    expect(scripted.signOns).toHaveLength(1);
    expect(await installation.switchStats()).toMatchObject({ badMacs: 2 });
  });

  test('MACs that do not agree keep the connection signing on, and taps are Indeterminate and reversed, never approved', async () => {
    const { installation, scripted } = await installWithMacs();
    scripted.onRequest = ({ respond }) => respond({}, { isMacSpoilt: true });
    const ids = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
        expect(response.type).toBe('Indeterminate');
        return response.serviceReference;
      }),
    );
    await eventually(() => expect(scripted.signOns.length).toBeGreaterThan(1));
    // A reversal's acknowledgement with a bad MAC does not count: the reversal is repeated.
    await eventually(() => expect(scripted.of('0420')).toHaveLength(3));
    await eventually(async () => {
      for (const id of ids) await letTimePass(installation.database, id, 5);
      expect(scripted.of('0421').length).toBeGreaterThanOrEqual(3);
    });
    const { rows } = await installation.database.query('select distinct disposition from transactions');
    expect(rows).toEqual([{ disposition: Disposition.Indeterminate }]);
  });
});
