import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A cluster with its first write-ahead log takes a hundred; the rest is for a test's traffic. */
const SIZE_MB = 320;
const CHUNK = Buffer.alloc(65_536);

/** A volume that can be filled, and freed again. */
export class SmallVolume {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Undefined if nothing can be mounted, which requires root. */
  static open(): SmallVolume | undefined {
    const path = mkdtempSync(join(tmpdir(), 'tapwire-volume-'));
    chmodSync(path, 0o755);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=755`, 'tapwire', path]).status === 0)
      return new SmallVolume(path);
    rmSync(path, { recursive: true });
    return undefined;
  }

  /** Fills it to the last byte. */
  fill(): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (;;) writeSync(file, CHUNK);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  close(): void {
    spawnSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }

  get #filler(): string {
    return join(this.path, 'filler');
  }
}
