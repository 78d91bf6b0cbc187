import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAllowedAddress } from '../../src/outbound/public-addresses.ts';

const PROD = { allowLoopback: false };
const DEV = { allowLoopback: true };

describe('an address is refused', () => {
  test.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.255.255.255'],
    ['private', '10.0.0.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['metadata behind carrier-grade NAT', '100.100.100.200'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['metadata', '169.254.169.254'],
    ['the wire server of Azure', '168.63.129.16'],
    ['metadata of Oracle', '192.0.0.192'],
    ['services of IBM Cloud', '161.26.0.10'],
    ['service endpoints of IBM Cloud', '166.9.8.7'],
    ['metadata of AWS', 'fd00:ec2::254'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['protocol assignments', '192.0.0.170'],
    ['private', '192.168.1.1'],
    ['benchmarks', '198.18.0.1'],
    ['benchmarks', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::10.0.0.1'],
    ['IPv4-mapped, private', '::ffff:10.0.0.1'],
    ['IPv4-mapped, loopback in hex', '::ffff:7f00:1'],
    ['IPv4-mapped, public', '::ffff:8.8.8.8'],
    ['NAT64', '64:ff9b::a00:1'],
    ['NAT64 of local use', '64:ff9b:1::a00:1'],
    ['discard', '100::1'],
    ['Teredo', '2001::1'],
    ['documentation', '2001:db8::1'],
    ['6to4', '2002:a00:1::'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fdff::1'],
    ['metadata over IPv6', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['no address', 'localhost'],
    ['no address', ''],
    ['brackets', '[::1]'],
    ['octal', '0177.0.0.1'],
  ])('an address that is %s is refused: %s', (_what, address) => {
    expect(isAllowedAddress(address, PROD)).toBe(false);
  });
});

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.1.1',
  '223.255.255.255',
])('public: %s', (address) => expect(isAllowedAddress(address, PROD)).toBe(true));

test.each(['2600:1f18::1', '2a00:1450:4001::200e', '2001:4860:4860::8888'])('public: %s', (address) =>
  expect(isAllowedAddress(address, PROD)).toBe(true));

test('only loopback is allowed for developers', () => {
  expect(['127.0.0.1', '127.8.8.8', '::1'].map((address) => isAllowedAddress(address, DEV))).toEqual([
    true,
    true,
    true,
  ]);
  const others = ['10.0.0.1', '192.168.1.1', '169.254.169.254', '::ffff:127.0.0.1', 'fd00::1', '0.0.0.0'];
  expect(others.map((address) => isAllowedAddress(address, DEV))).toEqual(others.map(() => false));
});

test('an IPv4 address inside an IPv6 one never makes it public', () => {
  const wrappers = [(v4: string) => `::ffff:${v4}`, (v4: string) => `::${v4}`, (v4: string) => `64:ff9b::${v4}`];
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom(...wrappers), (address, wrap) => !isAllowedAddress(wrap(address), PROD)),
  );
});

test('any text gets a response', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()),
      (text) => typeof isAllowedAddress(text, DEV) === 'boolean',
    ),
  );
});
