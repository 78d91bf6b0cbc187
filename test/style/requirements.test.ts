import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { SECRETS } from '../../src/observe/secret-files.ts';
import { settings } from '../../src/start/config.ts';

const pageOf = (name: string) => readFileSync(new URL(`../../deploy/compliance/${name}`, import.meta.url), 'utf8');
const PAGES = ['README.md', 'requirements.md', 'keys.md', 'card-data.md'].map(pageOf);

/** Number, requirement, state, what the gateway does, what the operator does. */
const rows = pageOf('requirements.md')
  .split('\n')
  .map((line) => line.split('|').slice(1, -1))
  .filter(({ length }) => length === 5)
  .map((cells) => cells.map((cell) => cell.trim()))
  .filter(([number]) => number !== 'No.' && !number!.startsWith('---'));

test('each requirement has a state, with its evidence and what remains', () => {
  expect(rows.length).toBeGreaterThan(50);
  const wrong = rows.filter(([number, requires, state, gateway, operator]) => {
    if (!number || !requires) return true;
    if (state === 'yes') return !gateway!.includes('](');
    if (state === 'partly') return gateway === '' || operator === '';
    return state !== 'no' || operator === '';
  });
  expect(wrong).toEqual([]);
});

test('each number has one row', () => {
  const numbers = rows.map(([number]) => number!).filter((number) => number !== 'See the standard');
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
});

test('the pages name settings that exist', () => {
  const known = new Set([...settings().map(({ name }) => name), ...SECRETS, 'OTEL_EXPORTER_OTLP_HEADERS']);
  const named = PAGES.flatMap((page) => [...page.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g)]);
  expect(named.length).toBeGreaterThan(20);
  expect(named.map(([, name]) => name!).filter((name) => !known.has(name))).toEqual([]);
});

test('the pages name commands that exist', () => {
  const known = new Set(Object.values(COMMANDS).flatMap((commands) => Object.keys(commands)));
  const named = PAGES.flatMap((page) => [...page.matchAll(/(?<=`|^)tapwire ([a-z-]+)\b/gm)]);
  expect(named.length).toBeGreaterThan(15);
  expect(named.map(([, name]) => name!).filter((name) => !known.has(name))).toEqual([]);
});
