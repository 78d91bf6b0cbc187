import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { actorOfIdentity, idOfIdentity, readMappedRole, roleFor } from '../../../src/auth/oidc/oidc-provider.ts';
import { beginSignIn, createPendingSignIns } from '../../../src/auth/oidc/pending-sign-in.ts';
import { readConfig } from '../../../src/start/config.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');

describe('the mapping of roles', () => {
  test('is read from VALUE=ROLE and VALUE=ROLE@ACQUIRER', () => {
    expect(readMappedRole('ops=operator')).toEqual({ value: 'ops', role: 'operator', acquirerId: 0 });
    expect(readMappedRole('cn=a@b=viewer@12')).toEqual({ value: 'cn=a@b', role: 'viewer', acquirerId: 12 });
    for (const wrong of ['ops', 'ops=', '=admin', 'ops=owner', 'ops=viewer@0', 'ops=viewer@x', 'a=toString'])
      expect(readMappedRole(wrong), wrong).toBeUndefined();
  });

  test('gives the first entry that a person has', () => {
    const mapping = ['a=viewer', 'b=admin'].map((entry) => readMappedRole(entry)!);
    expect(roleFor(mapping, ['b', 'a'])?.role).toBe('viewer');
    expect(roleFor(mapping, ['A'])).toBeUndefined();
  });
});

describe('a person of the provider', () => {
  test('has the same id for an issuer and subject, and another one for each other', () => {
    const ids = [
      { issuer: 'https://a.example', subject: 'x' },
      { issuer: 'https://b.example', subject: 'x' },
      { issuer: 'https://a.example', subject: 'X' },
    ].map(idOfIdentity);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(actorOfIdentity({ issuer: 'https://a.example', subject: 'x' })).toBe('oidc https://a.example x');
  });
});

describe('a sign-in in the cookie', () => {
  const ring = () => {
    const key = { id: 'own', key: createSecretKey(randomBytes(32)) };
    return { webhookSealing: { current: key, all: [key], find: () => key } };
  };
  const keys = ring();

  test('is opened by the installation that sealed it, until it expires', () => {
    const [own, other] = [createPendingSignIns(keys), createPendingSignIns(ring())];
    const pending = beginSignIn('/ops/work/jobs?state=dead', undefined, NOW_MS);
    const sealed = own.seal(pending);
    expect(own.open(sealed, NOW_MS + 599_000)).toEqual(pending);
    expect(own.open(sealed, NOW_MS + 600_000)).toBeUndefined();
    expect(other.open(sealed, NOW_MS)).toBeUndefined();
    const changed = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BA' : 'AA'}`;
    for (const wrong of ['', 'x', changed, sealed.slice(1), `${sealed}AAAA`, 'A'.repeat(5_000)])
      expect(own.open(wrong, NOW_MS), wrong).toBeUndefined();
  });
});

describe('the settings', () => {
  const SET = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'console', OIDC_ROLES: 'ops=operator' };

  test('belong together', () => {
    expect(readConfig(SET).OIDC_ROLES).toEqual([{ value: 'ops', role: 'operator', acquirerId: 0 }]);
    for (const name of Object.keys(SET)) expect(() => readConfig({ ...SET, [name]: undefined }), name).toThrow(/OIDC_/);
  });

  test.each([
    ['OIDC_ISSUER', 'https://user:password@id.example'],
    ['OIDC_ISSUER', `https://${'x'.repeat(150)}.example`],
    ['OIDC_SCOPES', 'profile'],
    ['OIDC_ROLES', 'ops=owner'],
    ['OIDC_MAX_AGE_SECONDS', '-1'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => readConfig({ ...SET, [name]: value })).toThrow(name);
  });

  test('require HTTPS outside dev', () => {
    const settings = { ...SET, TAPWIRE_ENV: 'prod', OIDC_ISSUER: 'http://id.example', CONSOLE_URL: 'http://c.example' };
    expect(() => readConfig(settings)).toThrow(
      /CONSOLE_URL: must begin with https[\s\S]*OIDC_ISSUER: must begin with https/,
    );
  });
});
