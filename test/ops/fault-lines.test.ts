import { beforeEach, expect, test } from 'vitest';
import { StoreUnavailable } from '../../src/basics/errors.ts';
import { FaultLines } from '../../src/observe/log.ts';

let nowMs: number;
let lines: string[];
let faults: FaultLines;
beforeEach(() => {
  nowMs = 0;
  lines = [];
  const error = (fields: object, text: string) => {
    const { suppressed = 0, id = '' } = fields as { suppressed?: number; id?: string };
    lines.push(`${text} ${id} ${suppressed}`);
  };
  faults = new FaultLines({ error } as ConstructorParameters<typeof FaultLines>[0], () => nowMs);
});

test('an outage of a minute is one line in ten seconds, which counts the others', () => {
  for (; nowMs < 60_000; nowMs += 100)
    faults.write('row could not be written', new StoreUnavailable(false), { id: 'x' });
  expect(lines).toEqual(['row could not be written x 0', ...Array(5).fill('row could not be written x 99')]);
});

test('another text and another error are kinds of their own, and appear at once', () => {
  faults.write('row could not be written', new StoreUnavailable(false));
  faults.write('row could not be written', new TypeError());
  faults.write('job failed', new StoreUnavailable(false));
  faults.write('job failed', 'not an error');
  expect(lines).toHaveLength(4);
});
