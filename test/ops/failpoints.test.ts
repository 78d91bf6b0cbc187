import { describe, expect, test } from 'vitest';
import { StartError } from '../../src/basics/errors.ts';
import { armFetcher, Failpoints } from '../../src/observe/failpoints.ts';
import { readConfig } from '../../src/start/config.ts';

test('the fetcher is returned unchanged without failpoints', () => {
  const fetcher = { request: () => Promise.reject(new Error('not called')) };
  expect(armFetcher(fetcher, undefined)).toBe(fetcher);
});

describe('TAPWIRE_FAILPOINTS', () => {
  const DATABASE_URL = 'postgres://x/x';

  test('is read in dev', () => {
    const { TAPWIRE_FAILPOINTS } = readConfig({ TAPWIRE_FAILPOINTS: 'after-write:kill, after-response:freeze@3' });
    expect(TAPWIRE_FAILPOINTS).toBeInstanceOf(Failpoints);
    expect(readConfig({ TAPWIRE_FAILPOINTS: '' }).TAPWIRE_FAILPOINTS).toBeUndefined();
  });

  test.each(['qa', 'prod'])('is refused in %s', (TAPWIRE_ENV) => {
    const variables = {
      TAPWIRE_ENV,
      DATABASE_URL,
      TRUSTED_PROXIES: '10.0.0.1',
      TAPWIRE_FAILPOINTS: 'after-write:kill',
    };
    expect(() => readConfig(variables)).toThrow(/TAPWIRE_FAILPOINTS: is allowed only in dev/);
  });

  test.each([
    'after-writ:kill',
    'after-write',
    'after-write:exit',
    'after-write:kill@0',
    'constructor:kill',
  ])('%s names none', (TAPWIRE_FAILPOINTS) => {
    expect(() => readConfig({ TAPWIRE_FAILPOINTS })).toThrow(StartError);
  });
});
