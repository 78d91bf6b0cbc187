import { statSync } from 'node:fs';

/** Certificates are renewed days before they expire. A replacement takes effect within twice this time. */
const LOOK_EVERY_MS = 10_000;

/**
 * Calls back when files have changed. Files that belong together are replaced one after the other, so a change counts
 * when two checks find the same state: a half-finished replacement is not an error.
 *
 * @param onChange called once for each state, also when a file is missing
 * @returns a function that ends it
 */
export function followFiles(paths: readonly string[], onChange: () => void, everyMs = LOOK_EVERY_MS): () => void {
  let known = versionOf(paths);
  let seen = known;
  const timer = setInterval(() => {
    const version = versionOf(paths);
    const isResting = version === seen;
    seen = version;
    if (!isResting || version === known) return;
    known = version;
    onChange();
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Changes with each file, and with what a link leads to. A missing file is a state, too. */
function versionOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing';
    })
    .join(', ');
}
