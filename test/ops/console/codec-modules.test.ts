import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { browserModules } from '../../../src/http/static-files.ts';

const ENTRY = 'codecs/iso8583/message-inspection.ts';
const REPLACED = {
  'codecs/bytes/native-text.ts': new URL('../../../src/console/page/native-text.js', import.meta.url),
};

test('the codecs of the console link with their replacement and import nothing of Node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'codec-modules-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    for (const { path, text } of browserModules(ENTRY, REPLACED)) {
      expect(text(), path).not.toMatch(/from '[^.]/);
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text());
    }
    const script = `const { diffMessages } = await import('${pathToFileURL(join(folder, ENTRY))}'); console.log(typeof diffMessages)`;
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })).toBe(
      'function\n',
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
