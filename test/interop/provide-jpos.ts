import type { TestProject } from 'vitest/node';
import { compileJpos, missingForJpos } from './compile-jpos.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The class path of the compiled peer with jPOS. */
    jposClasses: string;
  }
}

/**
 * Runs before the first test file.
 *
 * @throws Error if Java or Maven is missing
 */
export function setup(project: TestProject): () => void {
  const missing = missingForJpos();
  if (missing !== undefined) throw new Error(`test:interop needs Java 17 and Maven; "${missing}" is not installed`);
  const { classPath, remove } = compileJpos();
  project.provide('jposClasses', classPath);
  return remove;
}
