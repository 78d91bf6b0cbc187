import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ReadSpecFile, readSpecFile } from '../../../src/tools/specs/read-spec.ts';

/** A file of the test, removed after it. */
export function fileOf(name: string, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-spec-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

export const readAs = (name: string, content: unknown): ReadSpecFile => readSpecFile(fileOf(name, content));

/** `isofield` with the class `org.jpos.iso.` + type. */
export const isofield = (id: number, type: string, length: number, more = '') =>
  `<isofield id="${id}" length="${length}" name="Field ${id}" class="org.jpos.iso.${type}" ${more}/>`;

export const MTI = isofield(0, 'IFA_NUMERIC', 4);
export const BITMAP = isofield(1, 'IFB_BITMAP', 16);

/** A packager with these fields, each on a line of its own from the fourth. */
export const packager = (...fields: readonly string[]) => `<isopackager>
${[MTI, BITMAP, ...fields].join('\n')}
</isopackager>`;

export const subfields = (id: number, attributes: string, ...fields: readonly string[]) =>
  `<isofieldpackager id="${id}" length="255" name="Field ${id}" class="org.jpos.iso.IFB_LLHBINARY" packager="org.jpos.iso.packager.GenericSubFieldPackager" ${attributes}>${fields.join('')}</isofieldpackager>`;
