import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type1993 from '../../processors/type-1993/index.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { parseSpec } from '../../src/codecs/iso8583/json-spec.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { writeJposPackager } from '../../src/tools/specs/jpos-packager.ts';
import { readSpecFile } from '../../src/tools/specs/read-spec.ts';
import { Findings } from '../../src/tools/specs/spec-diff.ts';
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

/** Messages without composites that have no field, of which jPOS writes no bitmap. */
const withFields = (spec: Spec) =>
  messages(spec).filter((message) =>
    [message, ...Object.values(message)].every(
      (value) =>
        typeof value !== 'object' ||
        value instanceof Uint8Array ||
        Object.keys(value as object).some((name) => name !== 'mti'),
    ),
  );

/** jPOS reads a thousand messages of the table, and packs their values to the same bytes. */
async function comparesWithJpos(spec: Spec, packager: string): Promise<void> {
  const codec = compileSpec(spec);
  await fc.assert(
    fc.asyncProperty(withFields(spec), async (message) => {
      const bytes = codec.toBytes(message as never);
      const packed = await peer.repack(packager, bytes);
      expect(packed).toBe(toHex(bytes));
      expect(codec.decode(fromHex(packed))).toEqual(codec.decode(bytes));
    }),
    { numRuns: 1_000 },
  );
}

describe.each(['iso87ascii.xml', 'iso87binary.xml', 'iso93ascii.xml', 'iso93binary.xml'])('%s', (name) => {
  test('jPOS reads a thousand messages of the converted table and packs them to the same bytes', async () => {
    await comparesWithJpos(importedSpec(await packagerFile(name)), `jar:packager/${name}`);
  });
});

/**
 * Every class that import converts, with an odd length, which packed digits fill up. IFE_BINARY is missing: jPOS reads its
 * hex digits A to F as B to G.
 */
const CLASSES = [
  ...['IFA_NUMERIC', 'IFE_NUMERIC', 'IFB_NUMERIC', 'IFB_FNUMERIC', 'IF_CHAR', 'IFE_CHAR', 'IF_ECHAR', 'IFB_BINARY'],
  ...['IFA_BINARY', 'IFA_AMOUNT', 'IFE_AMOUNT', 'IFB_AMOUNT', 'IFA_LLNUM', 'IFA_LLLNUM', 'IFA_LCHAR'],
  ...['IFA_LLCHAR', 'IFA_LLLCHAR', 'IFA_LLLLCHAR', 'IFA_LLLLLCHAR', 'IFA_LLLLLLCHAR', 'IFA_LBINARY', 'IFA_LLBINARY'],
  ...['IFA_LLLBINARY', 'IFA_LLLLBINARY', 'IFA_LLLLLBINARY', 'IFA_LLLLLLBINARY', 'IFE_LNUM', 'IFE_LLNUM', 'IFE_LLLNUM'],
  ...['IFE_LCHAR', 'IFE_LLCHAR', 'IFE_LLLCHAR', 'IFE_LLLLCHAR', 'IFE_LBINARY', 'IFE_LLBINARY', 'IFE_LLLBINARY'],
  ...['IFE_LLLLBINARY', 'IFB_LLNUM', 'IFB_LLLNUM', 'IFB_LLCHAR', 'IFB_LLLCHAR', 'IFB_LLLLCHAR', 'IFB_LLLLLLCHAR'],
  ...['IFB_LLBINARY', 'IFB_LLLBINARY', 'IFB_LLLLBINARY', 'IFB_LLHNUM', 'IFB_LLHCHAR', 'IFB_LLHECHAR', 'IFB_LLHBINARY'],
  ...['IFB_LLLHNUM', 'IFB_LLLHCHAR', 'IFB_LLLHECHAR', 'IFB_LLLHBINARY', 'IFB_FLLNUM', 'IFB_FLLLNUM', 'IFEA_LLCHAR'],
  ...['IFAE_LLCHAR', 'IFEB_LLNUM'],
];

const isofield = (id: number, type: string, more = '') =>
  `<isofield id="${id}" length="${type.endsWith('BITMAP') ? 8 : 7}" name="Part ${id}" class="org.jpos.iso.${type}" ${more}/>`;

describe('a packager with fields of every class', () => {
  test.each([
    ['false', 'IFA_NUMERIC', 'IFA_BITMAP'],
    ['true', 'IFE_NUMERIC', 'IFB_BITMAP'],
  ])('jPOS packs the same bytes with pad="%s", an MTI in %s and a bitmap in %s', async (pad, mti, bitmap) => {
    const path = join(folder, `classes-${pad}.xml`);
    const rows = CLASSES.map((type, index) => isofield(index + 2, type, `pad="${pad}"`));
    const inside = CLASSES.slice(0, 40).map((type, index) => isofield(index + 2, type, `pad="${pad}"`));
    const composite = 'length="999" name="Inside" class="org.jpos.iso.IFA_LLLBINARY"';
    const subfields = 'packager="org.jpos.iso.packager.GenericSubFieldPackager"';
    writeFileSync(
      path,
      `<!DOCTYPE isopackager PUBLIC "-//jPOS/jPOS Generic Packager DTD 1.0//EN" "http://jpos.org/dtd/generic-packager-1.0.dtd">
      <isopackager>
        <isofield id="0" length="4" name="MTI" class="org.jpos.iso.${mti}"/>
        <isofield id="1" length="16" name="Bitmap" class="org.jpos.iso.${bitmap}"/>
        ${rows.join('')}
        <isofieldpackager id="100" ${composite} ${subfields}>${isofield(1, 'IFA_BITMAP')}${inside.join('')}</isofieldpackager>
        <isofieldpackager id="101" ${composite} ${subfields} bitmapField="0" emitBitmap="true">
          ${isofield(0, 'IFB_BITMAP')}${isofield(1, 'IFE_CHAR')}${isofield(2, 'IFB_LLHNUM')}
        </isofieldpackager>
        <isofieldpackager id="102" ${composite} ${subfields} emitBitmap="false" firstField="0">
          ${isofield(0, 'IF_CHAR')}${isofield(1, 'IFB_NUMERIC')}${isofield(2, 'IFE_LLCHAR')}
        </isofieldpackager>
        <isofieldpackager id="103" ${composite} ${subfields}>
          <isofield id="1" length="16" name="Bitmap" class="org.jpos.iso.IFB_BITMAP"/>
          ${isofield(2, 'IF_CHAR')}${isofield(65, 'IFB_LLCHAR')}${isofield(100, 'IFE_CHAR')}
        </isofieldpackager>
        <isofieldpackager id="104" ${composite} packager="org.jpos.iso.packager.Base1SubFieldPackager">
          ${isofield(0, 'packager.Base1_BITMAP126')}${isofield(1, 'IFE_CHAR')}${isofield(9, 'IFB_LLHNUM')}
        </isofieldpackager>
      </isopackager>`,
    );
    await comparesWithJpos(importedSpec(path), path);
  });

  test('jPOS packs the messages of type-1993 with the exported packager to the same bytes', async () => {
    const path = join(folder, 'exported.xml');
    writeFileSync(path, writeJposPackager(type1993.spec, new Findings('type-1993')));
    await comparesWithJpos(type1993.spec, path);
  });
});

test('a packager that jPOS itself cannot read back is refused with line and field', async () => {
  const path = await packagerFile('cmf.xml');
  expect(() => readSpecFile(path)).toThrow(
    /cmf\.xml:\d+: field 49\.0, class IFB_BITMAP: subfield 1 and a second bitmap/,
  );
});
