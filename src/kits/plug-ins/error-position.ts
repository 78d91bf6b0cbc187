import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const JAVASCRIPT = ['.js', '.mjs'];

/**
 * File and line of an error that was thrown while a plug-in was imported, as `/path/spec.ts:12`; undefined if it cannot be
 * determined.
 *
 * @param entry the entry file of the plug-in
 */
export function positionOf(error: Error, entry: string): string | undefined {
  const { stack = '' } = error;
  // For a fault that Node finds before it runs the file, the first line of the stack is the position.
  const beforeRun = /^(\S.*:\d+)$/m.exec(stack.split('\n', 1)[0]!)?.[1];
  if (beforeRun !== undefined) return pathOf(beforeRun);
  if (error instanceof SyntaxError) return positionInScripts(dirname(entry));
  const frame = /^ +at .*?(file:.*:\d+):\d+\)?$/m.exec(stack)?.[1];
  return frame === undefined ? undefined : pathOf(frame);
}

function pathOf(position: string): string {
  const [, file, line] = /^(.*):(\d+)$/.exec(position)!;
  return `${file!.startsWith('file:') ? fileURLToPath(file!) : file}:${line}`;
}

/** Of a fault in JavaScript Node states no position, so the scripts of the folder are read again as TypeScript. */
function positionInScripts(folder: string): string | undefined {
  const scripts = readdirSync(folder).filter((name) => JAVASCRIPT.includes(extname(name)));
  for (const name of scripts) {
    const path = join(folder, name);
    try {
      stripTypeScriptTypes(readFileSync(path, 'utf8'), { sourceUrl: path });
    } catch (error) {
      const line = /:(\d+)$/m.exec((error as Error).stack?.split('\n', 1)[0] ?? '')?.[1];
      if (line !== undefined) return `${path}:${line}`;
    }
  }
  return undefined;
}
