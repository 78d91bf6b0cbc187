import { spawnSync } from 'node:child_process';

/** The last commit before this check existed. Older subjects follow other rules and stay as they are. */
export const START = 'b2d88be3c5eb95aeba49aa54b7ce3e3643cf2379';

/** Git and most hosting services cut longer subjects in lists of commits. */
const MAX_SUBJECT_CHARS = 72;
/** `links: `, `processor-kit: `, `store/links: ` */
const AREA = /^[a-z0-9]+(?:[-/][a-z0-9]+)*: /;
/** "added", "adding": a report, where an instruction belongs. */
const NOT_IMPERATIVE = /^[a-z]+(?:ed|ing)$/;
/** Instructions that end like a report. */
const IMPERATIVE = new Set(['bring', 'embed', 'exceed', 'feed', 'need', 'ping', 'proceed', 'seed', 'shed', 'speed']);

export interface Commit {
  readonly id: string;
  readonly subject: string;
}

/** @returns what is wrong with a subject; undefined if nothing is */
export function subjectFault(subject: string): string | undefined {
  const area = AREA.exec(subject)?.[0];
  if (area === undefined) return 'must begin with an area in lower case and ": "';
  if (subject.length > MAX_SUBJECT_CHARS)
    return `has ${subject.length} characters, at most ${MAX_SUBJECT_CHARS} allowed`;
  if (subject.endsWith('.')) return 'must not end with a full stop';
  const [verb = ''] = subject.slice(area.length).split(' ');
  if (!/^[a-z]/.test(verb)) return 'must have a summary that begins in lower case';
  if (NOT_IMPERATIVE.test(verb) && !IMPERATIVE.has(verb)) return `must be imperative: "${verb}" is not`;
  return undefined;
}

/**
 * The commits after the start of the check, without merges.
 *
 * @returns undefined if the start is unknown: in a shallow clone, or in a copy of the files without git
 */
export function commitsSinceStart(folder: string): Commit[] | undefined {
  const git = (...words: string[]) => spawnSync('git', words, { cwd: folder, encoding: 'utf8' });
  if (git('merge-base', '--is-ancestor', START, 'HEAD').status !== 0) return undefined;
  const { status, stdout } = git('log', '--no-merges', '--format=%h %s', `${START}..HEAD`);
  if (status !== 0) return undefined;
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const end = line.indexOf(' ');
    return { id: line.slice(0, end), subject: line.slice(end + 1) };
  });
}
