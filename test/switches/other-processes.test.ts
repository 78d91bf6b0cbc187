import { afterEach, expect, test } from 'vitest';
import { type ReportedLines, SharedLines } from '../../src/switching/switches/other-processes.ts';

/** Reports that end when the test says so. */
class Reports implements ReportedLines {
  others: string[] = [];
  fault: Error | undefined;
  count = 0;
  #waiting: (() => void)[] = [];
  isHeld = false;

  async report(): Promise<readonly string[]> {
    this.count++;
    const others = [...this.others];
    const { fault } = this;
    if (this.isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (fault) throw fault;
    return others;
  }

  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async forget(): Promise<void> {}
}

let lines: SharedLines;
afterEach(() => lines.withdraw());

async function open(reported: Reports): Promise<SharedLines> {
  lines = await SharedLines.open({ reported, switches: [], handover: undefined, onError: () => {} });
  return lines;
}

test('requests that look for another process at the same time share a report', async () => {
  const reports = new Reports();
  await open(reports);
  reports.others = ['1 7'];
  const before = reports.count;
  const found = await Promise.all(Array.from({ length: 100 }, () => lines.lookFor(1, [7])));
  expect(new Set(found)).toEqual(new Set([7]));
  expect(reports.count - before).toBe(1);
});

test('a request does not use a report that began before it', async () => {
  const reports = new Reports();
  await open(reports);
  reports.isHeld = true;
  const early = lines.lookFor(1, [7]);
  await expect.poll(() => reports.count).toBe(2);
  reports.others = ['1 7'];
  reports.isHeld = false;
  const late = lines.lookFor(1, [7]);
  reports.release();
  expect(await late).toBe(7);
  await early;
});

test('a report that fails reaches those who asked for it, and the next one works', async () => {
  const reports = new Reports();
  await open(reports);
  reports.fault = new Error('no database');
  await expect(lines.lookFor(1, [7])).rejects.toThrow('no database');
  reports.fault = undefined;
  reports.others = ['1 7'];
  expect(await lines.lookFor(1, [7])).toBe(7);
});
