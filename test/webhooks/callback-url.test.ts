import { describe, expect, test } from 'vitest';
import { hostOf, readCallbackUrl } from '../../src/outbound/guarded-fetch.ts';

const PROD = { allowHttp: false, allowLoopback: false };
const DEV = { allowHttp: true, allowLoopback: true };

describe('a callback URL is refused', () => {
  test.each([
    ['', 'MALFORMED'],
    ['shop.example/hook', 'MALFORMED'],
    ['https://', 'MALFORMED'],
    [`https://shop.example/${'a'.repeat(2_048)}`, 'MALFORMED'],
    ['http://shop.example/', 'SCHEME'],
    ['ftp://shop.example/', 'SCHEME'],
    ['file://shop.example/etc/passwd', 'SCHEME'],
    ['gopher://shop.example/', 'SCHEME'],
    ['https://user@shop.example/', 'CREDENTIALS'],
    ['https://:word@shop.example/', 'CREDENTIALS'],
    ['https://shop.example/#part', 'FRAGMENT'],
    ['https://shop.example:22/', 'PORT'],
    ['https://shop.example:25/', 'PORT'],
    ['https://shop.example:80/', 'PORT'],
    ['https://shop.example:0/', 'PORT'],
    ['https://10.0.0.1/', 'ADDRESS'],
    ['https://127.0.0.1:8443/', 'ADDRESS'],
    ['https://169.254.169.254/latest/meta-data/', 'ADDRESS'],
    ['https://[::1]/', 'ADDRESS'],
    ['https://[::ffff:10.0.0.1]/', 'ADDRESS'],
    ['https://[fd00::1]/', 'ADDRESS'],
  ])('%s is %s', (text, fault) => expect(readCallbackUrl(text, PROD)).toBe(fault));

  test.each([
    'https://0x7f.1/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://①②⑦.0.0.1/',
  ])('a callback URL is refused for every spelling of loopback: %s', (text) =>
    expect(readCallbackUrl(text, PROD)).toBe('ADDRESS'));
});

test.each([
  ['https://shop.example', 'https://shop.example/'],
  ['HTTPS://Shop.Example/hook?x=1', 'https://shop.example/hook?x=1'],
  ['https://shop.example:443/', 'https://shop.example/'],
  ['https://shop.example:8443/hook', 'https://shop.example:8443/hook'],
  ['https://8.8.8.8/hook', 'https://8.8.8.8/hook'],
  ['https://[2600:1f18::1]/hook', 'https://[2600:1f18::1]/hook'],
])('%s is normalized to %s', (text, normal) => expect((readCallbackUrl(text, PROD) as URL).href).toBe(normal));

describe('on a developer machine', () => {
  test.each([
    'http://localhost:3000/hook',
    'http://127.0.0.1:3000/hook',
    'http://[::1]:3000/hook',
    'http://shop.example/',
  ])('%s is accepted', (text) => expect(readCallbackUrl(text, DEV)).toBeInstanceOf(URL));

  test.each([
    ['http://10.0.0.1/', 'ADDRESS'],
    ['http://localhost:22/', 'PORT'],
    ['ftp://localhost/', 'SCHEME'],
  ])('%s is still refused', (text, fault) => expect(readCallbackUrl(text, DEV)).toBe(fault));
});

test('the host of an IPv6 URL has no brackets', () => {
  expect(hostOf(new URL('https://[2600:1f18::1]:8443/'))).toBe('2600:1f18::1');
});
