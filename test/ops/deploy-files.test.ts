import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

test('everything that the Dockerfile copies is part of the build', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources]) => sources!.split(' '));
  expect(copied).toContain('readers');
  const [first, ...others] = read('.dockerignore').trim().split('\n');
  expect(first).toBe('*');
  expect(others.sort()).toEqual(copied.map((source) => `!${source}`).sort());
});

test('the Kubernetes example of a second cell, made as described, shares no name or selector with the first', () => {
  const [, script] = /\n +sed -e '([^']+)' cell\.yml/.exec(read('deploy/kubernetes/README.md'))!;
  const first = read('deploy/kubernetes/cell.yml');
  const second = execFileSync('sed', ['-e', script!], { input: first, encoding: 'utf8' });
  const naming = (text: string) =>
    text
      .split('\n')
      .filter((line) => /^[^#]*(\b(name|secretName|serviceName): tapwire-|tapwire\/cell|CELL_NAME)/.test(line));
  expect(naming(first).length).toBeGreaterThan(15);
  for (const line of naming(second)) expect(naming(first)).not.toContain(line);
});
