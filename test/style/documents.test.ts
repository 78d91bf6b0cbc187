import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { documents, ROOT } from './source-files.ts';

/** The id that code hosting services derive from a heading. */
function anchorOf(heading: string): string {
  const text = heading.replace(/^#+\s+/, '').toLowerCase();
  return text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
}

function anchorsOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8').replaceAll(/^```.*?^```/gms, '');
  return [...text.matchAll(/^#{1,6} .+$/gm)].map(([heading]) => anchorOf(heading));
}

test('each section that a document links to exists', () => {
  const dead = documents().flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)].flatMap(([, target, anchor]) => {
      const file = target === '' ? path : join(dirname(path), target!);
      if (!file.endsWith('.md')) return [];
      return existsSync(join(ROOT, file)) && anchorsOf(file).includes(anchor!) ? [] : [`${path}: ${target}#${anchor}`];
    }),
  );
  expect(dead).toEqual([]);
});

test('each npm script that a document names exists', () => {
  const unknown = documents().flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm run (?:-s )?([a-z][a-z:-]*)/g)]
      .filter(([, script]) => !(script! in packageJson.scripts))
      .map(([, script]) => `${path}: npm run ${script}`),
  );
  expect(unknown).toEqual([]);
});
