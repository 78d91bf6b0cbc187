import { expect, onTestFinished, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { StoreUnavailable } from '../../src/basics/errors.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { Processor } from '../../src/kits/processor-kit/processor.ts';
import type { AcquirerSwitch } from '../../src/switching/switches/acquirer-switch.ts';
import {
  AcquirerSwitches,
  type LineClaims,
  type StoredProcessor,
} from '../../src/switching/switches/acquirer-switches.ts';
import type { ProcessorFault } from '../../src/switching/switches/ports.ts';
import type { PinTranslation } from '../../src/switching/switches/translate-pin.ts';
import { startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { eventually } from '../support/eventually.ts';
import { testSwitchAccess } from '../support/installation.ts';
import { takenStan } from '../support/stans.ts';

const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** A gateway's switches that follow `stored`, and a simulated switch to connect to. */
async function open(
  differing: {
    pins?: PinTranslation;
    openWithinMs?: number;
    followEveryMs?: number;
    databaseWithinMs?: number;
    failures?: Error[];
    claims?: LineClaims;
    lookUpAll?: (acquirerId: number) => Promise<boolean>;
  } = {},
) {
  const simulator = await startSimulator({ processors: [{ processor: type1, port: 0 }], timeScale: 0.05 });
  onTestFinished(() => simulator.close());
  const config = { ...type1.exampleConfig, addresses: [{ host: '127.0.0.1', port: simulator.ports[0]! }] };
  const stored: StoredProcessor[] = [];
  const reported: ProcessorFault[] = [];
  let stan = 0;
  let announce = () => {};
  const { failures = [] } = differing;
  const logged: string[] = [];
  const note = (level: string) => (_fields: object, text: string) => void logged.push(`${level}: ${text}`);
  const opening = AcquirerSwitches.open({
    types: new Map([['type-1', type1 as Processor]]),
    stored: () => stored,
    followStored: (onChange) => {
      announce = onChange;
    },
    faults: { tell: async (faults) => void reported.push(...faults) },
    stans: {
      next: async () => {
        const failure = failures.shift();
        if (failure) throw failure;
        return takenStan(String(++stan).padStart(6, '0'));
      },
    },
    dates: { current: () => '2026-11-20', announce: () => {} },
    unmatchedResponses: { take: () => {}, lookUpAll: differing.lookUpAll ?? (async () => true) },
    messages: { isKeeping: false, keep: () => {} },
    macs: undefined,
    pins: differing.pins,
    keyExchange: undefined,
    claims: differing.claims,
    access: testSwitchAccess(),
    clock,
    log: { info: () => {}, warn: note('warn'), error: note('error') },
    times: {
      followEveryMs: differing.followEveryMs ?? 20,
      openWithinMs: differing.openWithinMs ?? 10_000,
      databaseWithinMs: differing.databaseWithinMs ?? 60_000,
    },
  });
  const store = (id: number, more: object = {}) =>
    stored.push({ acquirerId: 1, id, type: 'type-1', config: { ...config, ...more } });
  const reserved = () => stan;
  return { simulator, reserved, opening, stored, reported, logged, store, announce: () => announce() };
}

test('responses of a removed switch are waited for when everything stops', async () => {
  const { opening, stored, store } = await open();
  store(1);
  const switches = await opening;
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
  const slot = (await switches.find(1, 1)!.takeSlot())!;
  const amount = { amountMinor: 10_10, currency: 'ZAR', currencyNumeric: '710' };
  const request = switches.find(1, 1)!.prepare(testPurchase({ amount }));
  const deadlineAtMs = clock.monotonicMs() + 20_000;
  const about = { acquirerId: 1, id: 'b1c8a4be-45c0-4d3a-9d2f-64d1a1f6a001', attempt: 1 };
  let hasResponded = false;
  const response = slot.authorize(request, { deadlineAtMs, sendByAtMs: deadlineAtMs }, about).finally(() => {
    hasResponded = true;
  });
  stored.length = 0;
  await eventually(() => expect(switches.find(1, 1)).toBeUndefined());
  await switches.close(clock.monotonicMs() + 10_000);
  expect(hasResponded).toBe(true);
  expect(await response).toMatchObject({ kind: 'responded', value: { outcome: { kind: 'approved' } } });
});

test('a configuration that its type reads as another switch than before is not opened', async () => {
  const { opening, stored, reported, store, announce } = await open();
  store(1);
  const read = { ...stored[0]!, identity: { acquirerId: '99999' } };
  stored[0] = read;
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  await eventually(() =>
    expect(reported[0]?.reason).toMatch(/another switch than before; change it, with --same-switch/),
  );
  expect(switches.find(1, 1)).toBeUndefined();
  stored[0] = { ...read, identity: { acquirerId: '50001' } };
  announce();
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
});

test('a change that is announced is applied before the interval has passed', async () => {
  const { opening, store, announce } = await open({ followEveryMs: 3_600_000 });
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  store(1);
  announce();
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
});

test.each([
  [
    'the database is unavailable',
    new StoreUnavailable(false),
    'warn: processor cannot be opened until the database responds',
  ],
  ['there is a fault', new Error('a bug'), 'error: processor cannot be opened'],
])('a switch that cannot be opened because %s is tried again, and the log has it at its level', async (_, failure, line) => {
  const { opening, logged, store } = await open({ failures: [failure] });
  store(1);
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
  expect(logged.filter((each) => each.includes('cannot be opened'))).toEqual([line]);
});

test('a switch that waits for the database for a minute is an error, once', async () => {
  const failures = Array.from({ length: 5 }, () => new StoreUnavailable(false));
  const { opening, logged, store } = await open({ failures, databaseWithinMs: 1 });
  store(1);
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
  expect(logged.filter((each) => each.startsWith('error'))).toEqual([
    'error: processor has waited too long for the database, its taps are not sent',
  ]);
});

test('an HSM that does not respond delays no other switch, and is tried again', async () => {
  const first = Promise.withResolvers<string>();
  let asked = 0;
  const kcv = () => (++asked === 1 ? first.promise : Promise.resolve('ABCDEF'));
  const pins = {
    hsm: { kcv, translatePin: async () => ({ block: new Uint8Array(8) }) },
    reader: { keyId: 'reader', format: 0 },
  } as const;
  const { opening, reported, store } = await open({ pins, openWithinMs: 50 });
  store(1, { pinKey: { keyId: 'pin', format: 0, derivation: 'zone' } });
  store(2);
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  await eventually(() => expect(switches.find(1, 2)?.isSignedOn).toBe(true));
  expect(switches.find(1, 1)).toBeUndefined();
  expect(reported).toContainEqual(
    expect.objectContaining({ processorId: 1, reason: expect.stringContaining('does not respond') }),
  );
  expect(asked).toBe(1);
  first.resolve('ABCDEF');
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
});

test.each([
  ['a transport header of half bytes', { transportHeader: 'abc' }, 'transportHeader'],
  [
    'a transport header of another dialect',
    { transportHeader: '6000010000' },
    'type-1: transportHeader must be as long as',
  ],
  [
    'an exchange of keys that it does not have',
    { keyExchange: { transportKeyId: 'zmk', keys: ['mac'] } },
    'keyExchange',
  ],
])('a switch with %s is reported, and trying to open it again uses no numbers', async (_, mistake, reason) => {
  const { opening, reported, store, reserved } = await open();
  store(1, mistake);
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  await eventually(() => expect(reported.length).toBeGreaterThan(2));
  expect(reported[0]!.reason).toContain(reason);
  expect(reserved()).toBe(0);
});

test('the connections of a switch whose claim is lost are closed, and opened again when a claim succeeds', async () => {
  let lose = () => {};
  let mayClaim = true;
  let released = 0;
  const claims: LineClaims = {
    claim: async (_acquirerId, onLost) => {
      if (!mayClaim) throw new StoreUnavailable(false);
      lose = onLost;
      return async () => void released++;
    },
  };
  const { opening, store } = await open({ claims });
  store(1);
  const switches = await opening;
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
  const line = switches.find(1, 1)!;
  mayClaim = false;
  lose();
  expect(switches.find(1, 1)).toBeUndefined();
  await eventually(() => expect([line.isSignedOn, released]).toEqual([false, 1]));
  mayClaim = true;
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
  await switches.close(clock.monotonicMs() + 1_000);
  expect(released).toBe(1); // the rest ends with the process, after its last look-ups
});

test('a claim is released when the switch is closed and every late response of its acquirer was looked up', async () => {
  const events: string[] = [];
  const claims: LineClaims = { claim: async () => async () => void events.push('released') };
  const lookUps = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
  let line: AcquirerSwitch;
  const lookUpAll = (acquirerId: number) => {
    const look = events.length;
    events.push(`look at ${acquirerId}, ${line.availability}`);
    return lookUps[look]!.promise;
  };
  const { opening, store, stored } = await open({ claims, lookUpAll });
  store(1);
  const switches = await opening;
  onTestFinished(() => switches.close(clock.monotonicMs()));
  await eventually(() => expect(switches.find(1, 1)?.isSignedOn).toBe(true));
  line = [...switches][0]![1];
  stored.length = 0;
  await eventually(() => expect(events).toEqual(['look at 1, closed']));
  lookUps[0]!.resolve(false); // the database was unavailable
  await eventually(() => expect(events).toEqual(['look at 1, closed', 'look at 1, closed']));
  lookUps[1]!.resolve(true);
  await eventually(() => expect(events).toEqual(['look at 1, closed', 'look at 1, closed', 'released']));
});

test('a switch whose claim is lost while it is opened is closed again', async () => {
  let claimed = 0;
  const claims: LineClaims = {
    claim: async (_acquirerId, onLost) => {
      claimed++;
      if (claimed === 1) onLost();
      return async () => {};
    },
  };
  const { opening, store } = await open({ claims });
  store(1);
  const switches = await opening;
  await eventually(() => expect([claimed, switches.find(1, 1)?.isSignedOn]).toEqual([2, true]));
  await switches.close(clock.monotonicMs() + 1_000);
});
