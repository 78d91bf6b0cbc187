import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LONG_FILES } from '../support/longest-first.ts';
import { documents, ROOT, sourceFiles } from './source-files.ts';

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.ts$/;
const VAGUE = /\b(utils?|helpers?|manager|common|misc)\b/;

describe('the tree is tidy', () => {
  const files = sourceFiles('src', 'processors', 'schemas', 'test');
  const product = files.filter(({ path }) => !path.startsWith('test/'));

  test('files have kebab-case names that describe their content', () => {
    const wrong = files
      .map(({ path }) => path)
      .filter((path) => !KEBAB_CASE.test(path.split('/').at(-1)!) || VAGUE.test(path));
    expect(wrong).toEqual([]);
  });

  test('only a processor has a default export', () => {
    const wrong = product.filter(
      ({ path, text }) =>
        /^export default /m.test(text) && !/^processors\/[^/]+\/index\.ts$/.test(path) && !path.includes('/template/'),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('Buffer#slice is not used: subarray states what it does', () => {
    const wrong = product.filter(({ text }) => /\bBuffer\.[a-z]+\([^()]*\)\.slice\(/.test(text));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('no test is skipped or exclusive, and there are no TODO comments', () => {
    const left = files.filter(
      ({ path, text }) =>
        path !== 'test/style/tidy.test.ts' &&
        /\b(it|test|describe)\.(only|skip|todo)\b|\b(TODO|FIXME|HACK|XXX)\b/.test(text),
    );
    expect(left.map(({ path }) => path)).toEqual([]);
  });

  test('the long files that run first exist', () => {
    const paths = new Set(files.map(({ path }) => path));
    expect(LONG_FILES.filter((name) => !paths.has(`test/${name}`))).toEqual([]);
  });

  test('the targets of documents exist', () => {
    const dead = documents().flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .filter(([, target]) => !existsSync(join(ROOT, dirname(path), target!)))
        .map(([, target]) => `${path}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  test('code is not generated from text', () => {
    const wrong = product.filter(({ text }) => /\bnew Function\(|\beval\(/.test(text));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});
