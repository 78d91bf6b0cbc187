import { execFileSync, spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { runTapwire } from '../../src/cli/commands.ts';

/** Runs the script in a shell, and prints a line for each word that completes the last of `words`. */
const ASK: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) => `${script}
COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}
_tapwire
printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Outside the line editor, where zsh itself would filter the words by the beginning of the last one.
  zsh: (script, words) => `compdef() {}
compadd() { shift; for each in "$@"; do [[ "$each" == "\${words[CURRENT]}"* ]] && print -r -- "$each"; done }
_files() { compadd -- README.md; }
${script}
words=(${quoted(words)}); CURRENT=${words.length}
_tapwire || true`,
  // Each line has the word, a tab and a description.
  fish: (script, words) => `${script}
complete --do-complete '${words.join(' ')}' | string replace -r '\\t.*' ''; true`,
};

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

let printed = '';
beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation((text) => {
    printed = text;
  });
});
afterEach(() => void vi.restoreAllMocks());

describe.each(['bash', 'zsh', 'fish'])('the script for %s', (shell) => {
  test.skipIf(!isInstalled(shell))('completes commands, those of groups, and options', async () => {
    expect(await runTapwire(COMMANDS, ['completion', shell])).toBe(0);
    const complete = (...words: string[]) => {
      const output = execFileSync(shell, ['-c', ASK[shell]!(printed, ['tapwire', ...words])], { encoding: 'utf8' });
      return output.split('\n').filter((word) => word !== '');
    };
    expect(complete('mi')).toEqual(['migrate']);
    expect(complete('processor', 'ver')).toEqual(['verify']);
    expect(complete('merchant', 'add', '--time')).toEqual(['--time-zone']);
    expect(complete('tap', '--am')).toEqual(['--amount']);
    expect(complete('tap', '--amount', '10.00', '--cur')).toContain('--currency');
    expect(complete('processor', 'verify', 'processors/type-1', '--he')).toContain('--help');
    expect(complete('no-such-command', 'mi')).toEqual(['migrate']);
    // bash itself adds files, after the words of the script.
    if (shell !== 'bash') expect(complete('decode', 'READ')).toEqual(['README.md']);
    expect(complete('processor', 'READ')).toEqual([]);
  });
});
