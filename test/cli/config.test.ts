import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { effectiveTable, exampleOf } from '../../src/cli/config.ts';
import { readConfig, settings } from '../../src/config.ts';
import { StartError } from '../../src/errors.ts';

describe('tapwire config', () => {
  const secrets = {
    DATABASE_URL: 'postgres://tapwire:open-sesame@db.example/tapwire',
    METRICS_TOKEN: 'a scraper shows this one',
  };
  const table = effectiveTable(readConfig(secrets), secrets);

  test('shows every setting, its value and where that comes from', () => {
    const rows = table.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows.slice(1).map(([name]) => name)).toEqual(settings().map(({ name }) => name));
    expect(rows).toContainEqual(['PORT', '8080', 'usual']);
    expect(rows).toContainEqual(['METRICS_TOKEN', '[withheld]', 'environment']);
  });

  test('shows no secret', () => {
    expect(table).toContain('db.example');
    expect(table).not.toMatch(/sesame|a scraper/);
  });
});

test('every setting says what it is', () => {
  const silent = settings().filter(({ says }) => says.length < 4);
  expect(silent).toEqual([]);
});

test('.env.example has every setting at its usual value (tapwire config --example > .env.example)', () => {
  expect(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8').trimEnd()).toBe(exampleOf(settings()));
});

test('.env.example is a configuration that starts, once its lines are no comments', () => {
  const lines = exampleOf(settings()).matchAll(/^#([A-Z_]+)=(.+)$/gm);
  const variables = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
  expect(readConfig(variables)).toEqual(readConfig({}));
});

test('everything that is wrong with a configuration is told at once, without the values', () => {
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
