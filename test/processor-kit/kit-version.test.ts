import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { defineProcessor } from '../../src/kits/processor-kit/define-processor.ts';
import { PROCESSOR_KIT } from '../../src/kits/processor-kit/kit-version.ts';
import { newProcessor } from '../../src/kits/processor-kit/new-processor.ts';
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

/** The request check of version 1, by which a processor of 0.1.0 no longer loaded. */
function writeOldCheck(): void {
  change(
    'index.ts',
    ['  kit: 2,\n', ''],
    ["import { RULES } from './rules.ts';\n", ''],
    ['  requestRules: RULES,\n', ''],
  );
  change(
    'simulate.ts',
    ['  brokenRules,\n', '  missingFields,\n'],
    ["import { RULES } from './rules.ts';\n", ''],
    ['brokenRules(RULES, request)', "missingFields(request, ['transmissionDateTime', 'stan'])"],
  );
}

test('a processor of version 1 is refused with each change and what replaces it', async () => {
  writeOldCheck();
  change(
    'profile.ts',
    ["lengthHeader: 'binary-2'", 'lengthBytes: 2, lengthIncludesHeader: false'],
    ["stanScope: 'acquirer'", "stanScope: 'terminal'"],
    ['codes: REVERSAL_CODES }', "acknowledged: ['00'], unableToLocate: ['25'] }"],
  );
  const { error } = await loadOutside(folder, parent);
  expect(error).toContain(join(folder, 'index.ts'));
  expect(error).toContain('written for an earlier version of the processor kit, this gateway has version 2: ');
  expect(error).toContain('framing.lengthBytes and framing.lengthIncludesHeader are replaced by framing.lengthHeader');
  expect(error).toContain('are replaced by profile.reversal.codes');
  expect(error).toContain('processors/README.md, "Versions of the kit"');
});

test('a processor of version 1 that uses nothing that has changed loads', async () => {
  writeOldCheck();
  const { types, error } = await loadOutside(folder, parent);
  expect(error).toBeUndefined();
  expect(types).toContain('north');
});

test('an import that the kit does not have is named with the version, instead of the words of Node', async () => {
  change('outcome.ts', ['  classifyOutcome,\n', '  classifyOutcome,\n  formerHelper,\n']);
  const { error } = await loadOutside(folder, parent);
  expect(error).toContain('imports formerHelper, which version 2 of the processor kit does not have');
  expect(error).toContain('(');
  expect(error).not.toContain('does not provide an export');
});

test.each([
  [
    'a transport header that is only bytes',
    { framing: { ...type1.framing, transportHeader: Uint8Array.of(96, 0) } },
    "{ kind: 'tpdu', bytes }",
  ],
  ['a MAC rule that reads the number alone', { mac: { ...type1.mac, keyNumber: () => 1 } }, 'mac.read'],
  ['a later version', { kit: PROCESSOR_KIT + 1 }, 'Install a later version of Tapwire'],
])('%s is refused with what replaces it', (_, differing, replacement) => {
  expect(() => defineProcessor({ ...type1, ...differing } as never)).toThrow(replacement);
});
