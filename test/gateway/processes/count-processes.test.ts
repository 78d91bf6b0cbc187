import { expect, test } from 'vitest';
import { countProcesses, fitProcesses } from '../../../src/start/processes/open-group.ts';

const CORES = 4;
/** With 12 connections for taps and jobs, a process opens up to 17. */
const CONNECTIONS = 12;

test('auto means one process per core, up to eight', () => {
  expect([1, 2, 8, 64].map((cores) => countProcesses('auto', cores))).toEqual([1, 2, 8, 8]);
  expect(countProcesses(12, CORES)).toBe(12);
});

test('auto is limited to the connections that the database allows, with a warning', () => {
  const warnings: object[] = [];
  const countFor = (allowed: number) =>
    fitProcesses('auto', { connections: CONNECTIONS, allowed }, (fields) => warnings.push(fields), CORES);
  expect(countFor(4 * 17 + 2)).toBe(4);
  expect(warnings).toEqual([]);
  expect(countFor(4 * 17 + 1)).toBe(3);
  expect(warnings).toEqual([{ processes: 3, cores: 4, connectionsEach: 17, allowed: 69 }]);
});

test('a given number that the database does not allow is refused, with both numbers', () => {
  const countFor = () => fitProcesses(6, { connections: CONNECTIONS, allowed: 103 }, () => {}, CORES);
  expect(countFor).toThrow(/6 processes with up to 17 .* need 104, and the database allows 103/);
});
