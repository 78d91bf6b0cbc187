import { expect, test } from 'vitest';
import { readConfig } from '../../src/start/config.ts';
import { isStillGranted } from '../../src/start/open-console.ts';

const SETTINGS = {
  TAPWIRE_ENV: 'dev',
  DATABASE_URL: 'postgres://localhost/tapwire',
  OIDC_CLIENT_ID: 'console',
  OIDC_ROLES: 'team=operator@1',
};
const PERSON = { subject: '4711', name: 'Thandi', role: 'operator', acquirerId: 1 } as const;

function isGranted(OIDC_ISSUER: string, issuer: string, differing: object = {}): boolean {
  return isStillGranted(readConfig({ ...SETTINGS, OIDC_ISSUER }), { ...PERSON, issuer, ...differing });
}

test.each([
  ['the same issuer', 'https://id.example/realms/a', 'https://id.example/realms/a'],
  ['a host without a path', 'https://id.example', 'https://id.example'],
  ['an issuer with a last slash', 'https://id.example', 'https://id.example/'],
  ['the URL of its metadata', 'https://id.example/a/.well-known/openid-configuration', 'https://id.example/a'],
])('a sign-in remains valid with %s', (_what, setting, issuer) => {
  expect(isGranted(setting, issuer)).toBe(true);
});

test.each([
  ['another realm of the host', 'https://id.example/realms/b', {}],
  ['a longer path', 'https://id.example/realms/a/b', {}],
  ['another host', 'https://id.example.org/realms/a', {}],
  ['no URL', 'id', {}],
  ['a role that no entry gives', 'https://id.example/realms/a', { role: 'admin' }],
  ['another acquirer', 'https://id.example/realms/a', { acquirerId: 2 }],
])('a sign-in ends with %s', (_what, issuer, differing) => {
  expect(isGranted('https://id.example/realms/a', issuer, differing)).toBe(false);
});
