import { matchesGlob } from 'node:path';

/** What a check reads of a file: comments, texts in quotes, or the prose of a document or page. */
export type Part = 'comments' | 'texts' | 'prose';

export interface CleanFiles {
  /** Relative to the root of the repository. */
  readonly glob: string;
  readonly parts: readonly Part[];
}

/**
 * Files without banned phrases. They stay so, and the list grows until it covers the repository: correct a file, add it here.
 */
export const CLEAN_FILES: readonly CleanFiles[] = [
  { glob: 'schemas/*.ts', parts: ['texts'] },
  { glob: 'src/cli/**/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/cli/README.md', parts: ['prose'] },
  { glob: 'src/{config,main}.ts', parts: ['comments', 'texts'] },
  { glob: 'src/{docs,gateway}/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/{ops,phone,simulator}/**/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/ops/**/*.md', parts: ['prose'] },
  { glob: 'src/http/*.ts', parts: ['texts'] },
  { glob: 'src/http/{docs,openapi,routes}/*.ts', parts: ['texts'] },
  { glob: 'src/{links,push}/*.ts', parts: ['texts'] },
  { glob: 'src/http/pay-page/*.js', parts: ['texts'] },
  { glob: 'src/ops/console/page/*.js', parts: ['comments', 'texts'] },
  { glob: '{src/http/pay-page,src/ops/console/page}/*.html', parts: ['prose'] },
  { glob: 'schemas/*.md', parts: ['prose'] },
  { glob: 'src/transactions/**/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/transactions/README.md', parts: ['prose'] },
  { glob: 'src/http/**/*.{ts,js}', parts: ['comments'] },
  { glob: 'schemas/*.ts', parts: ['comments'] },
  { glob: 'src/connection/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/switches/**/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/{auth,jobs,webhooks,push}/**/*.ts', parts: ['comments'] },
  { glob: 'src/{auth,jobs,webhooks,push}/README.md', parts: ['prose'] },
  { glob: 'src/store/**/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/store/README.md', parts: ['prose'] },
  { glob: 'src/http/**/*.md', parts: ['prose'] },
  { glob: 'src/errors/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/errors.ts', parts: ['comments'] },
  { glob: 'src/links/*.ts', parts: ['comments'] },
  { glob: 'src/card/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/card/README.md', parts: ['prose'] },
  { glob: 'src/{bytes,emv,limits}/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/{crypto,iso8583}/**/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/iso8583/README.md', parts: ['prose'] },
  { glob: 'processors/*/*.ts', parts: ['comments', 'texts'] },
  { glob: 'src/links/README.md', parts: ['prose'] },
  { glob: 'src/processor-kit/**/*.ts', parts: ['comments', 'texts'] },
  { glob: '{src/processor-kit/template,processors}/**/*.md', parts: ['prose'] },
  { glob: 'test/style/clean-files.ts', parts: ['comments'] },
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
