import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processorConformance } from '../../src/kits/processor-kit/conformance.ts';
import { newProcessor } from '../../src/kits/processor-kit/load-processors.ts';
import template from '../../src/kits/processor-kit/template/index.ts';
import { loadOutside } from './load-outside.ts';

let parent: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'tapwire-new-'));
});

afterEach(() => rmSync(parent, { recursive: true }));

test('the template conforms', () => {
  expect(processorConformance(template).filter(({ passed }) => !passed)).toEqual([]);
});

test('a new processor is loaded from its folder, under its own name, and conforms', async () => {
  const folder = newProcessor('north-bank', parent);
  expect(folder).toBe(join(parent, 'north-bank'));
  const { types, failed } = await loadOutside(folder, parent);
  expect(types).toContain('north-bank');
  expect(failed).toEqual([]);
});

test('nothing of the template’s name is left, and the places to edit are marked', () => {
  const folder = newProcessor('north-bank', parent);
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(files.join()).not.toMatch(/acme/i);
  expect(files.join()).toContain('NorthBankMessage');
  expect(files.filter((text) => text.includes('EDIT')).length).toBeGreaterThanOrEqual(8);
});

test.each(['', 'North', '1bank', 'north bank', '../north', 'a'.repeat(33)])('the name "%s" is refused', (name) => {
  expect(() => newProcessor(name, parent)).toThrow('PLUG_IN_INVALID');
});

test('an existing folder is not changed', () => {
  newProcessor('north', parent);
  expect(() => newProcessor('north', parent)).toThrow('PLUG_IN_DUPLICATE');
});
