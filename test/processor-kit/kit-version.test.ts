import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { defineProcessor, PROCESSOR_KIT } from '../../src/kits/processor-kit/define-processor.ts';
import { newProcessor } from '../../src/kits/processor-kit/load-processors.ts';
import { loadOutside } from './load-outside.ts';

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'tapwire-kit-'));
  folder = newProcessor('north', parent);
});
afterEach(() => rmSync(parent, { recursive: true }));

function change(file: string, ...replacements: readonly (readonly [before: string, after: string])[]): void {
  const path = join(folder, file);
  let text = readFileSync(path, 'utf8');
  for (const [before, after] of replacements) {
    expect(text).toContain(before);
    text = text.replaceAll(before, after);
  }
  writeFileSync(path, text);
}

test('an import that the kit does not have is named with the version, instead of the words of Node', async () => {
  change('outcome.ts', ['  classifyOutcome,\n', '  classifyOutcome,\n  formerHelper,\n']);
  const { error } = await loadOutside(folder, parent);
  expect(error).toContain('imports formerHelper, which version 1 of the processor kit does not have');
  expect(error).toContain('(');
  expect(error).not.toContain('does not provide an export');
});

test.each([
  ['a later version', { kit: PROCESSOR_KIT + 1 }, 'Install a later version of Tapwire'],
  ['no version', { kit: undefined }, 'kit: must be 1, the version of the processor kit that it was written for'],
])('a processor that states %s is refused with what to do', (_, differing, advice) => {
  expect(() => defineProcessor({ ...type1, ...differing } as never)).toThrow(advice);
});
