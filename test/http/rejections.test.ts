import { expect, test } from 'vitest';
import { RequestRejected } from '../../src/basics/errors.ts';
import { problemOf } from '../../src/http/problem.ts';
import { REJECTIONS } from '../../src/http/rejections.ts';

const CODES = Object.keys(REJECTIONS) as (keyof typeof REJECTIONS)[];

test.each(CODES)('%s has its own response that states what is wrong', (code) => {
  const { status, errorCode, detail } = problemOf(new RequestRejected(code))!;
  expect(status).toBeGreaterThanOrEqual(400);
  expect(errorCode).toBeGreaterThanOrEqual(100);
  expect(detail).toMatch(/^[A-Z].*\.$/);
  const same = CODES.filter((other) => REJECTIONS[other].detail === detail);
  expect(same).toEqual([code]);
});
