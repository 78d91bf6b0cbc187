import { matchesGlob } from 'node:path';

/** What a check reads of a file: comments, texts in quotes, or the prose of a document or page. */
export type Part = 'comments' | 'texts' | 'prose';

/** Files whose texts contain banned phrases on purpose: the phrases with their tests, and code that mutations quote. */
export const QUOTING_FILES: readonly string[] = ['test/style/*.ts', 'test/simulation/mutations/*.ts'];

/** @returns the parts of the file that must not contain banned phrases */
export function checkedPartsOf(path: string): readonly Part[] {
  if (/\.(?:md|html)$/.test(path)) return ['prose'];
  return QUOTING_FILES.some((glob) => matchesGlob(path, glob)) ? ['comments'] : ['comments', 'texts'];
}

/** Comments and texts of a source file. A quote in a regular expression can extend a text; the check then reads too much. */
const TOKEN = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

/** @returns the part of a file as texts to check */
export function textsOf(part: Part, text: string): string[] {
  if (part === 'prose') {
    const withoutCode = text.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`[^`\n]*`/g, '');
    return [withoutCode.replaceAll(/<[^>]*>/g, ' ')];
  }
  const isComment = (token: string) => token.startsWith('/*') || token.startsWith('//');
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token);
  return tokens
    .filter((token) => isComment(token) === (part === 'comments'))
    .map((token) => (isComment(token) ? token.replaceAll(/\n\s*\*/g, '') : token.replaceAll(/\$\{[^}]*\}/g, '')));
}
