import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { StartError } from '../../src/basics/errors.ts';
import { effectiveTable, exampleOf } from '../../src/cli/config.ts';
import { SECRETS } from '../../src/observe/secret-files.ts';
import { readConfig, settings } from '../../src/start/config.ts';

describe('tapwire config', () => {
  const secrets = {
    DATABASE_URL: 'postgres://tapwire:open-sesame@db.example/tapwire',
    METRICS_TOKEN: 'a scraper shows this one',
  };
  const table = effectiveTable(readConfig(secrets), secrets);

  test('shows every setting, its value and its source', () => {
    const rows = table.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows.slice(1).map(([name]) => name)).toEqual(settings().map(({ name }) => name));
    expect(rows).toContainEqual(['PORT', '8080', 'default']);
    expect(rows).toContainEqual(['METRICS_TOKEN', '[withheld]', 'environment']);
  });

  test('shows no secret', () => {
    expect(table).toContain('db.example');
    expect(table).not.toMatch(/sesame|a scraper/);
  });

  test.each([
    'postgres://db.example/tapwire?password=open-sesame',
    'tapwire:open-sesame@db.example/tapwire',
  ])('shows no password of %s', (url) => {
    const variables = { DATABASE_URL: url };
    expect(effectiveTable(readConfig(variables), variables)).not.toContain('sesame');
  });
});

describe('a secret', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fileOf = (text: string) => {
    const path = join(folder, randomUUID());
    writeFileSync(path, text);
    return path;
  };

  test.each(SECRETS)('%s can be given as a file, which may end with a newline', (name) => {
    expect(settings().map((setting) => setting.name)).toContain(`${name}_FILE`);
    for (const end of ['', '\n', '\r\n']) {
      const config = readConfig({ [`${name}_FILE`]: fileOf(`an open secret for tests${end}`) });
      expect(config[name]).toBe('an open secret for tests');
    }
  });

  test('a secret from a file is not shown, but its source is', () => {
    const variables = { METRICS_TOKEN_FILE: fileOf('a scraper shows this one') };
    const table = effectiveTable(readConfig(variables), variables);
    expect(table).toMatch(/^METRICS_TOKEN +\[withheld\] +file$/m);
    expect(table).not.toContain('a scraper');
  });

  test('a secret that is given both ways, or whose file is unusable, is refused without being shown', () => {
    const missing = join(folder, 'missing');
    const both = { METRICS_TOKEN: 'one of two tokens', METRICS_TOKEN_FILE: fileOf('the other of two') };
    expect(captured(() => readConfig({ ...both, DATABASE_URL_FILE: missing })).reason).toBe(
      'The configuration is invalid:\n' +
        '  DATABASE_URL_FILE: cannot be read (ENOENT)\n' +
        '  METRICS_TOKEN_FILE: METRICS_TOKEN is also set; remove one of them',
    );
    const long = captured(() => readConfig({ METRICS_TOKEN_FILE: fileOf('x'.repeat(100_000)) }));
    expect(long.reason).toContain('METRICS_TOKEN_FILE: cannot be read (not a file, or too large)');
    expect(captured(() => readConfig({ METRICS_TOKEN_FILE: '/dev/zero' })).reason).toContain('METRICS_TOKEN_FILE');
    const short = captured(() => readConfig({ METRICS_TOKEN_FILE: fileOf('hush') }));
    expect(short.reason).toContain('METRICS_TOKEN');
    expect(short.reason).not.toContain('hush');
  });
});

test('every setting has a description', () => {
  const silent = settings().filter(({ description }) => description.length < 4);
  expect(silent).toEqual([]);
});

test('.env.example has every setting with its default value (tapwire config --example > .env.example)', () => {
  expect(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8').trimEnd()).toBe(exampleOf(settings()));
});

test('.env.example is a configuration that starts, once its lines are uncommented', () => {
  const lines = exampleOf(settings()).matchAll(/^#([A-Z_]+)=(.+)$/gm);
  const variables = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
  expect(readConfig(variables)).toEqual(readConfig({}));
});

test('all faults of a configuration are reported together, without the values', () => {
  const wrong = { PORT: '70000', TAPWIRE_ENV: 'staging', PIN_SECONDS: 'soon', METRICS_TOKEN: 'short' };
  const error = captured(() => readConfig(wrong));
  for (const name of Object.keys(wrong)) expect(error.reason).toContain(name);
  expect(error.reason).not.toMatch(/staging|soon|"short"/);
});

function captured(run: () => unknown): StartError {
  try {
    run();
  } catch (error) {
    if (error instanceof StartError) return error;
  }
  throw new Error('It was to be refused');
}
