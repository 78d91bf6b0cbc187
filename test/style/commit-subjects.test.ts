import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitsSinceStart, START, subjectFault } from './commit-subjects.ts';
import { ROOT } from './source-files.ts';

test('each commit since the start of this check has a subject of the form "area: imperative summary"', () => {
  const commits = commitsSinceStart(ROOT);
  if (commits === undefined) return console.info(`No commit subject to check: this clone does not contain ${START}.`);
  const wrong = commits.flatMap(({ id, subject }) => {
    const fault = subjectFault(subject);
    return fault === undefined ? [] : [`${id} "${subject}" ${fault}`];
  });
  expect(wrong).toEqual([]);
});

test.each([
  'links: reject expired tokens',
  'processor-kit: let a configuration set the schedule of reversals',
  'store/links: need one query less',
])('the subject "%s" is accepted', (subject) => {
  expect(subjectFault(subject)).toBeUndefined();
});

test.each([
  ['Fill a line', 'area'],
  ['links reject expired tokens', 'area'],
  ['Links: reject expired tokens', 'area'],
  ['links: reject expired tokens.', 'full stop'],
  ['links: Reject expired tokens', 'lower case'],
  ['links: rejected expired tokens', 'imperative'],
  ['links: rejecting expired tokens', 'imperative'],
  [`links: reject ${'expired '.repeat(8)}tokens`, 'at most 72'],
])('the subject "%s" is refused', (subject, fault) => {
  expect(subjectFault(subject)).toContain(fault);
});

test('a copy without git has no commits to check', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-no-git-'));
  try {
    expect(commitsSinceStart(folder)).toBeUndefined();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
