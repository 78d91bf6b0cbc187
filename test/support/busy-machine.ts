import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const SAMPLE_MS = 300;

/** A quiet machine is idle for nearly all of a sample: this program only sleeps. */
const IDLE_SHARE_OF_A_BUSY_ONE = 0.1;

/**
 * Whether other programs use the cores. Gateways have limits of time of their own (a statement 4 s, a slot of a pool
 * 5 s), which tests must not wait out on a machine that is short of time anyway: run fewer of them at once there.
 */
export const isBusy = async (): Promise<boolean> => {
  const before = totals();
  await sleep(SAMPLE_MS);
  const after = totals();
  return (after.idle - before.idle) / Math.max(1, after.all - before.all) < IDLE_SHARE_OF_A_BUSY_ONE;
};

const totals = (): { idle: number; all: number } => {
  const times = cpus().map((core) => core.times);
  const sum = (list: readonly number[]) => list.reduce((a, b) => a + b, 0);
  return { idle: sum(times.map((each) => each.idle)), all: sum(times.map((each) => sum(Object.values(each)))) };
};
