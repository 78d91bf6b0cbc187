import { afterEach, describe, expect, test, vi } from 'vitest';
import { bad, cutTo, good, wrapTo } from '../../src/cli/output.ts';
import { createLog } from '../../src/observe/log.ts';

afterEach(() => vi.unstubAllEnvs());

/** A terminal or a pipe, with what was written to it. */
function output(isTTY: boolean, columns = 40) {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const getColorDepth = () => (process.env.NO_COLOR ? 1 : 8);
  return { isTTY, columns, written, write, getColorDepth, writable: true, on: () => {} };
}

/** The variables by which a user chooses colours; the test runner sets one of them. */
function choose(variables: NodeJS.ProcessEnv): void {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, variables[name]);
}

describe('colours', () => {
  test.each([
    ['a terminal', true, {}, true],
    ['a pipe', false, {}, false],
    ['a terminal with NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['a pipe with FORCE_COLOR', false, { FORCE_COLOR: '1' }, true],
    ['a terminal with FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false],
  ])('colours are used as expected on %s', (_where, isTTY, variables, isColoured) => {
    choose(variables);
    expect(good('ok', output(isTTY))).toBe(isColoured ? '\u001b[32mok\u001b[39m' : 'ok');
    expect(bad('no', output(isTTY))).toBe(isColoured ? '\u001b[31mno\u001b[39m' : 'no');
  });
});

describe('a line for a person', () => {
  const line = 'FAULT database: the server does not respond, nothing accepts connections there';

  test('is broken between words within the width of a terminal, and whole in a pipe', () => {
    const wrapped = wrapTo(output(true), line, 6).split('\n');
    expect(wrapped.map(({ length }) => length).every((length) => length < 40)).toBe(true);
    expect(wrapped.slice(1).every((each) => /^ {6}\S/.test(each))).toBe(true);
    expect(wrapped.map((each) => each.trim()).join(' ')).toBe(line);
    expect(wrapTo(output(false), line, 6)).toBe(line);
  });

  test('a line for a person that is rewritten is cut, also on a terminal that reports no width', () => {
    expect(cutTo(output(true), line)).toHaveLength(39);
    expect(cutTo(output(true, 0), `${line} ${line}`)).toHaveLength(79);
  });
});

describe('logs', () => {
  test('logs on a terminal are readable, and text in fields cannot control the terminal', () => {
    choose({ NO_COLOR: '1' });
    const screen = output(true);
    createLog('info', 'tapwire', 2, screen).warn({ processorId: 1, reason: 'a b\u001b[2J' }, 'switch is down');
    expect(screen.written.join('')).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}\[2\] switch is down {2}processorId=1 reason="a b\\u001b\[2J"\n$/,
    );
  });
});
