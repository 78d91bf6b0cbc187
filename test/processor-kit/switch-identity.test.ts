import { expect, test } from 'vitest';
import { identityOf, isReadAlike, isSameSwitch } from '../../src/kits/processor-kit/switch-config.ts';

const [A, B] = [
  { host: 'a.example', port: 1 },
  { host: 'b.example', port: 1 },
];
const [FIRST, SECOND] = [
  { number: 1, keyId: 'first' },
  { number: 2, keyId: 'second' },
];
const CONFIG = {
  addresses: [A, B],
  acquirerId: '50001',
  macKeys: [FIRST, SECOND],
  pinKey: { keyId: 'pin', format: 0 },
  keyExchange: { transportKeyId: 'transport', maxAgeSeconds: 60 },
  accept: { host: '0.0.0.0', port: 9101, maxConnections: 2 },
};

test.each([
  ['the number of connections', { connectionsPerAddress: 4 }],
  ['the balance', { balance: 'least-in-flight' }],
  ['the profile', { profile: { deadlineMs: 5_000 } }],
  ['the age of keys', { keyExchange: { transportKeyId: 'transport', maxAgeSeconds: 90 } }],
  ['the limit of accepted connections', { accept: { host: '0.0.0.0', port: 9101, maxConnections: 9 } }],
  ['fewer addresses, in another order', { addresses: [B] }],
  ['fewer keys', { macKeys: [SECOND] }],
])('%s does not identify a switch', (_, differences) => {
  expect(isSameSwitch(identityOf(CONFIG), identityOf({ ...CONFIG, ...differences }))).toBe(true);
});

test.each([
  ['a further address', { addresses: [A, B, { host: 'c.example', port: 1 }] }],
  ['no address', { addresses: [] }],
  ['another listener', { accept: { host: '0.0.0.0', port: 9102, maxConnections: 2 } }],
  ['no listener', { accept: undefined }],
  ['an id of the type', { acquirerId: '50002' }],
  ['a further key', { macKeys: [FIRST, SECOND, { number: 3, keyId: 'third' }] }],
  ['another PIN key', { pinKey: { keyId: 'other', format: 0 } }],
  ['another transport key', { keyExchange: { transportKeyId: 'other', maxAgeSeconds: 60 } }],
  ['a transport header', { transportHeader: '6000010000' }],
  ['a server name', { tls: { serverName: 'switch.example' } }],
])('%s identifies a switch', (_, differences) => {
  expect(isSameSwitch(identityOf(CONFIG), identityOf({ ...CONFIG, ...differences }))).toBe(false);
});

test('a type may gain and lose settings, but must not read one differently', () => {
  const identity = identityOf(CONFIG);
  expect(isReadAlike(identity, identityOf({ ...CONFIG, form: 'new' }))).toBe(true);
  expect(isReadAlike(identityOf({ ...CONFIG, form: 'old' }), identity)).toBe(true);
  expect(isReadAlike(identity, identityOf({ ...CONFIG, acquirerId: '050001' }))).toBe(false);
});
