import { matchesGlob } from 'node:path';

/** What a check reads of a file: comments, texts in quotes, or the prose of a document or page. */
export type Part = 'comments' | 'texts' | 'prose';

export interface CleanFiles {
  /** Relative to the root of the repository. */
  readonly glob: string;
  readonly parts: readonly Part[];
}

/** The files without banned phrases. Correct a file before you add it. */
export const CLEAN_FILES: readonly CleanFiles[] = [
  { glob: '{src,processors,schemas}/**/*.{ts,js}', parts: ['comments', 'texts'] },
  { glob: '{*,.*,{src,processors,schemas}/**/*}.{md,html}', parts: ['prose'] },
  { glob: 'test/style/clean-files.ts', parts: ['comments'] },
  {
    glob: 'test/{auth,bytes,card,cli,connection,contract,crypto,docs,emv,flow,fuzz,support}/**/*.ts',
    parts: ['comments', 'texts'],
  },
];

/** @returns the parts of the file that are held to the list of banned phrases */
export function cleanPartsOf(path: string): ReadonlySet<Part> {
  return new Set(CLEAN_FILES.filter(({ glob }) => matchesGlob(path, glob)).flatMap(({ parts }) => parts));
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
