import { expect, test } from 'vitest';
import { MacWatch } from '../../src/switching/switches/received-messages.ts';

function watch() {
  const signedOnAgain: string[] = [];
  return { macs: new MacWatch((connectionId) => signedOnAgain.push(connectionId)), signedOnAgain };
}

test('three MACs in a row that are not good make their connection sign on again, and so do three more', () => {
  const { macs, signedOnAgain } = watch();
  for (const verdict of ['bad', 'unverifiable', 'bad'] as const) macs.note('a', verdict);
  expect(signedOnAgain).toEqual(['a']);
  for (let more = 0; more < 3; more++) macs.note('a', 'bad');
  expect(signedOnAgain).toEqual(['a', 'a']);
  expect(macs.bad).toBe(6);
});

test('a good one in between resets the count, and every connection has its own', () => {
  const { macs, signedOnAgain } = watch();
  for (const verdict of ['bad', 'bad', 'good', 'bad', 'bad'] as const) macs.note('a', verdict);
  for (const verdict of ['bad', 'bad'] as const) macs.note('b', verdict);
  expect(signedOnAgain).toEqual([]);
});

test('the count ends with its connection; messages without a MAC do not count', () => {
  const { macs, signedOnAgain } = watch();
  macs.note('a', 'bad');
  macs.note('a', 'bad');
  macs.forget('a');
  macs.note('a', undefined);
  macs.note('a', 'bad');
  expect(signedOnAgain).toEqual([]);
  expect(macs.bad).toBe(3);
});
