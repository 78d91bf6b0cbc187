import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Specifiers of its imports and re-exports, dynamic ones included. */
  readonly imports: readonly string[];
}

/** Every TypeScript file in these folders that git tracks or could track. */
export function sourceFiles(...folders: string[]): SourceFile[] {
  return filesOf('.ts', folders).map(({ path, text }) => {
    return { path, text, imports: [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2]!) };
  });
}

/** Every text in Markdown. */
export function documents(): Pick<SourceFile, 'path' | 'text'>[] {
  return filesOf('.md', []);
}

/** Scripts and pages that browsers load, under these folders. */
export function browserFiles(...folders: string[]): Pick<SourceFile, 'path' | 'text'>[] {
  return [...filesOf('.js', folders), ...filesOf('.html', folders)];
}

function filesOf(ending: string, folders: readonly string[]): Pick<SourceFile, 'path' | 'text'>[] {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...folders];
  const listed = execFileSync('git', words, { cwd: ROOT }).toString().split('\n');
  return listed
    .filter((path) => path.endsWith(ending) && existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

const IMPORT = /^(?:import|export)\s(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/gm;

/**
 * The target of a specifier, from the root: `src/codecs/emv/tlv.ts`, `#processor-kit`, or undefined for a package or a
 * built-in.
 */
export function targetOf({ path }: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier;
  if (!specifier.startsWith('.')) return undefined;
  return relative(ROOT, resolve(ROOT, dirname(path), specifier));
}
