import { hostname, networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { type SwitchConfig, switchConfig } from '../../src/kits/processor-kit/switch-config.ts';
import { readConfig } from '../../src/start/config.ts';
import { switchAccessOf } from '../../src/start/open-hsm-and-readers.ts';

function accessOf(settings: NodeJS.ProcessEnv = {}) {
  return switchAccessOf(readConfig(settings));
}

function configOf(given: object): SwitchConfig {
  return switchConfig.parse(given);
}

const at = (host: string, port = 9101) => configOf({ addresses: [{ host, port }] });
const placesOf = (settings: NodeJS.ProcessEnv, acquirerId: number, config: SwitchConfig) =>
  accessOf(settings)
    .faults(acquirerId, config)
    .map(({ path }) => path.join('.'));

describe('the address of a switch', () => {
  test.each([
    '127.0.0.1',
    '127.8.9.10',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::7f00:1',
    'fe80::1',
    'fe80::1%eth0',
    'fd00::1',
    'fc00::1',
    'ff02::1',
    'localhost',
    'LOCALHOST.',
    'switch.localhost',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '127.1',
    '0177.0.0.1',
  ])('%s is refused unless the operator has assigned it', (host) => {
    expect(placesOf({}, 1, at(host))).toEqual(['addresses.0.host']);
  });

  test.each([
    '8.8.8.8',
    '2606:4700::1111',
    'switch.example',
    hostname(),
  ])('%s is not refused before a connection is opened', (host) => {
    expect(placesOf({}, 1, at(host))).toEqual([]);
  });

  test('is not of this machine, on any interface', () => {
    const access = accessOf();
    for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
      expect(access.mayDial(1, address, 5432)).toBe(false);
  });

  const SWITCH_NETWORKS =
    '1=10.1.0.0/16, 2=10.2.0.5:9101,2=[fd00::/8]:9000-9099,3=8.8.8.8:9101,*=127.0.0.1:7000,1=[::ffff:169.254.1.1]';

  test.each([
    [1, '10.1.255.255', 1, true],
    [1, '10.2.0.5', 9101, false],
    [2, '10.2.0.5', 9101, true],
    [2, '10.2.0.5', 9102, false],
    [2, '10.2.0.6', 9101, false],
    [2, 'fdab::1', 9099, true],
    [2, 'fdab::1', 9100, false],
    [1, 'fdab::1', 9000, false],
    [1, '127.0.0.1', 7000, true],
    [9, '127.0.0.1', 7000, true],
    [9, '127.0.0.1', 7001, false],
    // A public switch that is assigned to an acquirer may trust every connection from here.
    [3, '8.8.8.8', 9101, true],
    [1, '8.8.8.8', 9101, false],
    [1, '8.8.8.8', 443, true],
    [1, '8.8.4.4', 9101, true],
  ])('may be used by acquirer %d at %s:%d: %s', (acquirerId, address, port, expected) => {
    expect(accessOf({ SWITCH_NETWORKS }).mayDial(acquirerId, address, port)).toBe(expected);
    expect(placesOf({ SWITCH_NETWORKS }, acquirerId, at(address, port))).toEqual(expected ? [] : ['addresses.0.host']);
  });
});

describe('a port that a switch connects to', () => {
  const SWITCH_LISTENERS = '1=0.0.0.0:9101,2=10.0.0.5:9200-9209,2=[::]:9300';
  const listening = (host: string, port: number) => configOf({ accept: { host, port } });

  test.each([
    [1, '0.0.0.0', 9101, true],
    [1, '127.0.0.1', 9101, false],
    [1, '0.0.0.0', 9102, false],
    [2, '0.0.0.0', 9101, false],
    [2, '10.0.0.5', 9209, true],
    [2, '10.0.0.5', 9210, false],
    [2, '::', 9300, true],
    [3, '0.0.0.0', 5432, false],
  ])('is assigned to acquirer %d at %s:%d: %s', (acquirerId, host, port, expected) => {
    expect(placesOf({ SWITCH_LISTENERS }, acquirerId, listening(host, port))).toEqual(expected ? [] : ['accept.port']);
    expect(placesOf({}, acquirerId, listening(host, port))).toEqual(['accept.port']);
  });
});

describe('a key of the HSM', () => {
  const SWITCH_KEYS = '1=zone-pin,2=bank-2-*,*=shared-mac,3=*';
  const named = (keyId: string) =>
    configOf({
      macKeys: [
        { number: 1, keyId },
        { number: 2, keyId: 'shared-mac' },
      ],
      pinKey: { keyId, format: 0 },
      keyExchange: { transportKeyId: keyId, keys: ['mac'] },
    });
  const PLACES = ['macKeys.0.keyId', 'pinKey.keyId', 'keyExchange.transportKeyId'];

  test.each([
    [1, 'acquirer/1/zone-pin', true],
    [2, 'acquirer/1/zone-pin', false],
    // Not with a pattern either.
    [3, 'acquirer/1/zone-pin', false],
    [12, 'acquirer/1/zone-pin', false],
    [1, 'acquirer/12/zone-pin', false],
    [1, 'zone-pin', true],
    [2, 'zone-pin', false],
    [2, 'bank-2-mac', true],
    [1, 'bank-2-mac', false],
    [3, 'anything', true],
    [3, 'reader-bdk', false],
    [3, 'exchanged-1-1-mac-0b6f7f5e', false],
    [1, 'unknown', false],
  ])('belongs to acquirer %d, %s: %s', (acquirerId, keyId, expected) => {
    expect(placesOf({ SWITCH_KEYS }, acquirerId, named(keyId))).toEqual(expected ? [] : PLACES);
  });

  test('a key of the HSM of the readers belongs to the acquirers for which its whole name is listed', () => {
    expect(placesOf({ SWITCH_KEYS: '*=*,1=reader-bdk' }, 1, named('reader-bdk'))).toEqual([]);
    expect(placesOf({ SWITCH_KEYS: '*=*,1=reader-bdk' }, 2, named('reader-bdk'))).toEqual(PLACES);
  });
});

test('the files of an acquirer are in its own folder', () => {
  const access = accessOf({ TLS_FILES_DIR: '/etc/tapwire/tls' });
  expect([1, 2].map((acquirerId) => access.tlsFolder(acquirerId))).toEqual([
    '/etc/tapwire/tls/1',
    '/etc/tapwire/tls/2',
  ]);
});

test.each([
  ['SWITCH_NETWORKS', '10.0.0.0/8'],
  ['SWITCH_NETWORKS', '1=switch.example'],
  ['SWITCH_NETWORKS', '1=10.0.0.0/33'],
  ['SWITCH_NETWORKS', '1=10.0.0.0/8/8'],
  ['SWITCH_NETWORKS', '1=10.0.0.0/'],
  ['SWITCH_NETWORKS', '1=10.0.0.1:0'],
  ['SWITCH_NETWORKS', '1=10.0.0.1:9200-9100'],
  ['SWITCH_NETWORKS', '1=fd00::1'],
  ['SWITCH_NETWORKS', '0=10.0.0.1'],
  ['SWITCH_LISTENERS', '1=0.0.0.0'],
  ['SWITCH_LISTENERS', '1=0.0.0.0/8:9101'],
  ['SWITCH_LISTENERS', '1=localhost:9101'],
  ['SWITCH_LISTENERS', '1=0.0.0.0:70000'],
  ['SWITCH_KEYS', 'zone-pin'],
  ['SWITCH_KEYS', '1='],
  ['SWITCH_KEYS', '1=a*b'],
])('%s=%s stops the start', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`${name}: .*is not ACQUIRER=VALUE`));
});
