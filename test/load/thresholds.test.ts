import { describe, expect, test } from 'vitest';
import { failedThresholds, parseThresholds } from '../../src/tools/load/thresholds.ts';
import { resultWith } from './results.ts';

const failed = (text: string, differences = {}) => failedThresholds(parseThresholds(text), resultWith(differences));

describe('conditions under which a test fails', () => {
  test('hold or do not, independently', () => {
    expect(failed('p99>50ms,errors>0.1%,lost>0,perSecond<90')).toEqual([]);
    expect(failed('p99>15ms,errors>0.1%,perSecond<200')).toEqual(['p99>15ms: it is 20 ms', 'perSecond<200: it is 100']);
    expect(failed('max>0.05s')).toEqual(['max>0.05s: it is 60 ms']);
  });

  test('count shares of all due calls, including those that could not be sent', () => {
    expect(failed('errors>1%', { errors: 10 })).toEqual([]);
    expect(failed('errors>1%', { errors: 11 })).toEqual(['errors>1%: it is 1.100 %']);
    expect(failed('unsent>49%', { unsent: 1_000 })).toEqual(['unsent>49%: it is 50.000 %']);
    expect(failed('lost>2', { lost: 3 })).toEqual(['lost>2: it is 3']);
  });

  test('are not met by a test without measurements', () => {
    const nothing = { sent: 0, responded: 0, p99Ms: null };
    expect(failed('p99>50ms,errors>1%', nothing)).toEqual([
      'p99>50ms: there was no response',
      'errors>1%: there was no response',
    ]);
  });

  test.each([
    'p99',
    'p99>',
    'p99>50',
    'p42>5ms',
    'errors>1ms',
    'perSecond>5%',
    'p99>=5ms',
    'p99>5ms;lost>0',
    '',
    'p99>5ms,',
  ])('are refused as %j', (text) => expect(() => parseThresholds(text)).toThrow('--fail-if'));
});
