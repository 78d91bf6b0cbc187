import { beforeEach, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type { IsoMessage, Processor } from '../../src/kits/processor-kit/index.ts';
import { type Behaviour, FaultySwitch } from '../../src/tools/simulator/behaviour/faulty-switch.ts';
import { AUTHORIZATION_VIOLATIONS, REVERSAL_VIOLATIONS } from '../../src/tools/simulator/behaviour/violations.ts';
import { PinTries } from '../../src/tools/simulator/card-accounts.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import { Ledger } from '../../src/tools/simulator/ledger.ts';
import { type Reaction, SimulatedSwitch } from '../../src/tools/simulator/simulated-switch.ts';

const TAPS = 30_000;
const SESSION = { isSignedOn: true };
const processor: Processor = type1;

let ledger: Ledger;
let counts: Map<string, number>;
beforeEach(() => {
  ledger = new Ledger();
  counts = new Map();
});

function switchWith(behaviour: Exclude<Behaviour, 'correct'>, seed = 1): FaultySwitch {
  const random = seededRandom(seed);
  const bank = new SimulatedSwitch(processor, type1.exampleConfig, {
    ...{ ledger, random, faults: undefined, latency: undefined, deadlineMs: 1_000, timeScale: 1, verifyPin: undefined },
    pinTries: new PinTries(),
    replay: undefined,
    keys: { exchanged: [], isPinKeyLive: () => true },
    onRefused: () => {},
  });
  const onViolation = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);
  return new FaultySwitch({ processor, bank, ledger, random, behaviour, deadlineMs: 1_000, onViolation });
}

/** Messages like the samples of the type, each with its own STAN. */
const sample = (mti: string) => type1.samples.find(({ message }) => message.mti === mti)!.message as IsoMessage;
const authorization = (n: number): IsoMessage => ({ ...sample('0200'), amount: '000000001000', stan: stanOf(n) });
const reversal = (n: number): IsoMessage => {
  const { transmissionDateTime = '' } = sample('0200');
  const elements = `0200${stanOf(n)}${String(transmissionDateTime)}`;
  return { ...sample('0420'), stan: stanOf(n), tid: sample('0200').tid, originalElements: elements.padEnd(42, '0') };
};
const stanOf = (n: number) => String(n + 1).padStart(6, '0');

/** Sends each response on a connection that stays open. */
function send(reaction: Reaction): void {
  for (const { response, onSent } of [reaction, ...(reaction.more ?? [])]) {
    if (response === undefined) continue;
    onSent?.(false);
    onSent?.(true);
  }
}

async function run(bank: FaultySwitch, taps = TAPS): Promise<void> {
  for (let n = 0; n < taps; n++) {
    send(await bank.react(authorization(n), SESSION));
    if (n % 3 === 0) send(await bank.react(reversal(n), SESSION));
  }
}

describe('a switch with arbitrary behaviour', () => {
  test('commits every violation, each of them often', async () => {
    await run(switchWith('arbitrary'));
    const expected = [...AUTHORIZATION_VIOLATIONS, ...REVERSAL_VIOLATIONS].map(({ name }) => name);
    const rare = [...new Set(expected)].filter((name) => (counts.get(name) ?? 0) < 10);
    expect(rare).toEqual([]);
    expect(counts.get('unmatched response')).toBeGreaterThan(100);
    expect([counts.get('line: close'), counts.get('line: silence'), counts.get('line: signOff')]).not.toContain(
      undefined,
    );
  });

  test('completes most requests, and records in its ledger what it did and what it reported', async () => {
    await run(switchWith('arbitrary'));
    const entries = [...ledger.entries()];
    const standing = entries.filter(({ state, said }) => state === 'approved' && said?.approvals === 1);
    expect(standing.length).toBeGreaterThan(TAPS / 3);
    const lies = {
      deniedWhatItBooked: entries.filter(({ state, said }) => state === 'approved' && said!.declines > 0),
      approvedWhatItDidNot: entries.filter(({ state, said }) => state === 'unbooked' && said!.approvals > 0),
      acknowledgedWhatItDidNot: entries.filter(({ state, said }) => state === 'approved' && said!.acknowledgedAtMs),
      refusedWhatItDid: entries.filter(({ state, said }) => state === 'reversed' && said!.refusedReversals > 0),
    };
    for (const [lie, reported] of Object.entries(lies)) expect(reported.length, lie).toBeGreaterThan(10);
    expect(entries.every(({ said }) => said!.received === 1)).toBe(true);
  });

  test('repeats the same behaviour with the same seed', async () => {
    await run(switchWith('arbitrary', 5), 2_000);
    const first = [...counts];
    counts.clear();
    ledger = new Ledger();
    await run(switchWith('arbitrary', 5), 2_000);
    expect([...counts]).toEqual(first);
    counts.clear();
    ledger = new Ledger();
    await run(switchWith('arbitrary', 6), 2_000);
    expect([...counts]).not.toEqual(first);
  });
});

test('a faulty switch reports nothing untrue', async () => {
  await run(switchWith('faulty'));
  const lies = [...AUTHORIZATION_VIOLATIONS, ...REVERSAL_VIOLATIONS].filter(({ isLie }) => isLie);
  expect(lies.filter(({ name }) => counts.has(name))).toEqual([]);
  expect(counts.get('unmatched response')).toBeUndefined();
  for (const { state, said } of ledger.entries()) {
    if (state === 'unbooked') expect(said!.approvals).toBe(0);
    if (state === 'approved') expect(said!.acknowledgedAtMs).toBeUndefined();
  }
});
