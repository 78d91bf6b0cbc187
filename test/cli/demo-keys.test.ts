import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { demoHsmKeysPath, demoSwitchConfig, writeDemoKeys } from '../../src/cli/demo/demo-installation.ts';

const ADDED = { keyId: 'north-mac', usage: 'mac', algorithm: 'tdes', key: '0123456789ABCDEFFEDCBA9876543210' };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-demo-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const start = () => writeDemoKeys(folder, new Map([['type-1', demoSwitchConfig(type1, 'type-1')]]));
const path = () => demoHsmKeysPath(folder);
const keys = (): (typeof ADDED)[] => JSON.parse(readFileSync(path(), 'utf8')).keys;

test('keys that were added to the demo’s key file survive the next start', () => {
  start();
  const own = keys();
  writeFileSync(path(), JSON.stringify({ keys: [ADDED, ...own] }));
  start();
  expect(keys()).toEqual([...own, ADDED]);
  start();
  expect(keys()).toEqual([...own, ADDED]);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test('a key of the demo itself gets the value that its switches have', () => {
  start();
  const own = keys();
  writeFileSync(path(), JSON.stringify({ keys: own.map((each) => ({ ...each, key: ADDED.key })) }));
  start();
  expect(keys()).toEqual(own);
});

test.each([
  '{ "keys": [',
  '{ "keys": [{ "keyId": "north-mac", "key": "0123" }] }',
])('a file that is not usable is kept, and the start names it: %s', (text) => {
  writeFileSync(path(), text);
  expect(start).toThrow(`The key file ${path()} is invalid. Correct it, or delete it`);
  expect(readFileSync(path(), 'utf8')).toBe(text);
});
