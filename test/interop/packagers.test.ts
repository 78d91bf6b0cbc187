import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { parseSpec } from '../../src/codecs/iso8583/json-spec.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { readSpecFile } from '../../src/tools/specs/read-spec.ts';
import { specToJson } from '../../src/tools/specs/write-spec.ts';
import { messages } from '../iso8583/message-arbitrary.ts';
import { Peer } from './peer.ts';

let peer: Peer;
let folder: string;
beforeAll(() => {
  peer = new Peer(inject('jposClasses'));
  folder = mkdtempSync(join(tmpdir(), 'tapwire-packagers-'));
});
afterAll(() => {
  peer.close();
  rmSync(folder, { recursive: true });
});

/** Writes a packager of the jar of jPOS to a file of its own, and returns its path. */
async function packagerFile(name: string): Promise<string> {
  const path = join(folder, name);
  writeFileSync(path, fromHex(await peer.ask('resource', `packager/${name}`)));
  return path;
}

/** Read by import, and once more from the JSON that import prints. */
const importedSpec = (path: string): Spec => parseSpec(JSON.parse(JSON.stringify(specToJson(readSpecFile(path).spec))));

describe.each(['iso87ascii.xml', 'iso87binary.xml', 'iso93ascii.xml', 'iso93binary.xml'])('%s', (name) => {
  test('jPOS reads a thousand messages of the converted table and packs them to the same bytes', async () => {
    const spec = importedSpec(await packagerFile(name));
    const codec = compileSpec(spec);
    const withFields = messages(spec).filter((message) => Object.keys(message).length > 1);
    await fc.assert(
      fc.asyncProperty(withFields, async (message) => {
        const bytes = codec.toBytes(message as never);
        const packed = await peer.repack(`jar:packager/${name}`, bytes);
        expect(packed).toBe(toHex(bytes));
        expect(codec.decode(fromHex(packed))).toEqual(codec.decode(bytes));
      }),
      { numRuns: 1_000 },
    );
  });
});

test('a packager that jPOS itself cannot read back is refused with line and field', async () => {
  const path = await packagerFile('cmf.xml');
  expect(() => readSpecFile(path)).toThrow(
    /cmf\.xml:\d+: field 49\.0, class IFB_BITMAP: subfield 1 and a second bitmap/,
  );
});
