import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit, Mutation } from './mutation.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A copy of the working tree with one mutation. */
export class BrokenCopy {
  readonly path: string;

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'tapwire-mutation-'));
    const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
    for (const file of files.toString().split('\n').filter(Boolean)) {
      mkdirSync(dirname(join(this.path, file)), { recursive: true });
      cpSync(join(ROOT, file), join(this.path, file));
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.path, 'node_modules'));
  }

  /** @returns false if a text to replace does not occur exactly once */
  apply({ also = [], ...edit }: Mutation): boolean {
    return [edit, ...also].every((each) => this.#edit(each));
  }

  #edit({ file, before, after }: Edit): boolean {
    const text = readFileSync(join(this.path, file), 'utf8'); // another edit may have changed the same file
    if (text.split(before).length !== 2) return false;
    writeFileSync(
      join(this.path, file),
      text.replace(before, () => after),
    );
    return true;
  }

  restore({ also = [], ...edit }: Mutation): void {
    for (const { file } of [edit, ...also]) cpSync(join(ROOT, file), join(this.path, file));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
