import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProcessorError } from '../errors.ts';
import { TYPE_PATTERN } from './define-processor.ts';

const TEMPLATE = new URL('./template/', import.meta.url);

/** What the template calls itself: as a type, and as a part of names. */
const TEMPLATE_TYPE = /\bacme\b/g;
const TEMPLATE_NAME = /\bAcme/g;

/**
 * Makes a folder with a processor that conforms as it is, the places to edit marked `EDIT`.
 *
 * @param type the processor's type, and the name of its folder: lower case letters, digits and hyphens
 * @param parent the folder that gets it
 * @returns the path of the new folder
 * @throws ProcessorError `PROCESSOR_INVALID` when the name is none, `PROCESSOR_DUPLICATE` when the folder is there
 */
export function newProcessor(type: string, parent: string): string {
  if (!TYPE_PATTERN.test(type)) {
    throw new ProcessorError('PROCESSOR_INVALID', `${type}: lower case letters, digits and hyphens, at most 32`);
  }
  const folder = join(parent, type);
  if (existsSync(folder)) throw new ProcessorError('PROCESSOR_DUPLICATE', `${folder} is there already`);
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(TEMPLATE)) {
    const text = readFileSync(new URL(file, TEMPLATE), 'utf8');
    writeFileSync(join(folder, file), text.replaceAll(TEMPLATE_TYPE, type).replaceAll(TEMPLATE_NAME, pascalCase(type)));
  }
  return folder;
}

function pascalCase(type: string): string {
  return type
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
