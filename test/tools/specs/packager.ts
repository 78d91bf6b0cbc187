import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ReadSpecFile, readSpecFile } from '../../../src/tools/specs/read-spec.ts';
import { makeMemoryFolder } from '../../support/memory-folder.ts';

let folder: string | undefined;

/** A file of the test, removed after it. It replaces an earlier one of this name. */
export function fileOf(name: string, content: unknown): string {
  folder ??= folderOfTest();
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** A folder for each file would take a third of the time of a test with thousands of generated files. */
function folderOfTest(): string {
  const made = makeMemoryFolder('tapwire-spec-');
  onTestFinished(() => {
    rmSync(made, { recursive: true });
    folder = undefined;
  });
  return made;
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
