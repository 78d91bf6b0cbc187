import { expect, test } from 'vitest';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';
import type { Switch, SwitchSlot } from '../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../src/payments/ports/transaction-dependencies.ts';
import { pauseTapLoad } from '../../src/start/create-transaction-dependencies.ts';

/** A switch that answers when the test says so, and the wake-up of another process. */
function installation() {
  const answer = Promise.withResolvers<unknown>();
  const wakeup = Promise.withResolvers<void>();
  const released: string[] = [];
  const slot = {
    authorize: () => answer.promise,
    reverse: () => answer.promise,
    complete: () => answer.promise,
    release: () => released.push('slot'),
  } as unknown as SwitchSlot;
  const target = { type: 'type-1', takeSlot: async () => slot } as unknown as Switch;
  const deps = {
    path: { kind: 'direct', switches: { find: (_acquirer: number, id: number) => (id === 1 ? target : undefined) } },
    wakeups: { moved: () => wakeup.promise, announce: () => {}, announceWork: () => {} },
  } as unknown as TransactionDependencies;
  const load = new TapLoad(1);
  return { load, answer, wakeup, released, deps: pauseTapLoad(deps, load) };
}

const KEY = { acquirerId: 1, id: 'a' };

test('a tap is no load while a switch has its request', async () => {
  const { load, answer, released, deps } = installation();
  if (deps.path.kind !== 'direct') throw new Error('no switches');
  const { switches } = deps.path;
  expect(switches.find(1, 2)).toBeUndefined();
  expect(switches.find(1, 1)?.type).toBe('type-1');
  const slot = await switches.find(1, 1)!.takeSlot();
  load.begin();
  const authorizing = slot!.authorize({} as never, {} as never, {} as never);
  expect(load.count).toBe(0);
  answer.resolve('answered');
  expect(await authorizing).toBe('answered');
  expect(load.count).toBe(1);
  slot!.release();
  expect(released).toEqual(['slot']);
});

test('a tap does not count either while another process decides', async () => {
  const { load, wakeup, deps } = installation();
  load.begin();
  const waiting = deps.wakeups.moved(KEY, 1_000);
  expect(load.count).toBe(0);
  wakeup.resolve();
  await waiting;
  expect(load.count).toBe(1);
});
