import { afterEach, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { maskerOf } from '../../src/codecs/iso8583/masker.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { Processor, SimulatedResponse, SwitchConfig } from '../../src/kits/processor-kit/index.ts';
import { Replay, readRecording } from '../../src/tools/simulator/scenarios.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

const TYPES = [type1, type2, type1993] as unknown as Processor[];

let simulator: Simulator | undefined;
let acquirer: Acquirer | undefined;
afterEach(async () => {
  acquirer?.pool.destroy();
  await simulator?.close();
});

const amountOf = (amountMinor: number) => ({ amountMinor, currency: 'ZAR', currencyNumeric: '710' });
const withoutMacs = (processor: Processor): SwitchConfig => ({
  ...processor.exampleConfig,
  macKeys: undefined,
  profile: { partialApproval: true },
});

/** A line as `tapwire processor record` prints it. */
function line(processor: Processor, amountMinor: number, simulated: SimulatedResponse | null, tookMs = 0): string {
  const config = withoutMacs(processor);
  const codec = processor.codec(config);
  const masked = (message: Parameters<typeof codec.encode>[0]) => {
    const bytes = new Uint8Array(4_096);
    const end = codec.encode(message, bytes, 0);
    return toHex(maskerOf(codec.spec ?? processor.spec).mask(bytes, 0, end)!);
  };
  const request = processor.authorization(testPurchase({ amount: amountOf(amountMinor) }), config);
  const response = simulated && masked(processor.simulate(request, simulated));
  return JSON.stringify({ type: processor.type, request: masked(request), response, tookMs, outcome: 'responded' });
}

async function open(processor: Processor, lines: readonly string[], cards: object[] = []) {
  const config = withoutMacs(processor);
  const recording = readRecording(lines.join('\n'), processor, config);
  simulator = await startSimulator({
    processors: [{ processor, config, port: 0, recording: lines.length > 0 ? recording : undefined }],
    cards: cards as never,
    ledgerPort: 0,
  });
  const addresses = [{ host: '127.0.0.1', port: simulator.ports[0]! }];
  acquirer = new Acquirer(processor, { ...config, addresses });
  return acquirer;
}

describe.each(TYPES)('recorded traffic of $type, masked', (processor) => {
  test('gives the codes of the recording, in its order, from the start again after the last', async () => {
    const { tap } = await open(processor, [
      line(processor, 10_00, { responseCode: '00', authorizationCode: '123456' }),
      line(processor, 10_00, { responseCode: '51' }),
      line(processor, 77_00, { responseCode: '54' }),
    ]).then((opened) => ({ tap: (amount: number) => opened.tap(amount) }));
    const codes = [];
    for (const amount of [10_00, 10_00, 10_00, 77_00, 77_00]) {
      const { outcome } = await tap(amount);
      codes.push(`${outcome?.kind} ${outcome?.responseCode}`);
    }
    expect(codes).toEqual(['approved 00', 'declined 51', 'approved 00', 'declined 54', 'declined 54']);
  });

  test('responds to an amount that was not recorded with the recorded responses in turn', async () => {
    const opened = await open(processor, [
      line(processor, 10_00, { responseCode: '51' }),
      line(processor, 20_00, { responseCode: '54' }),
    ]);
    const codes = [];
    for (let tap = 0; tap < 3; tap++) codes.push((await opened.tap(33_00)).outcome?.responseCode);
    expect(codes).toEqual(['51', '54', '51']);
  });

  test('stays silent where no response came, and takes the recorded time', async () => {
    const opened = await open(processor, [
      line(processor, 10_00, null),
      line(processor, 20_00, { responseCode: '00', authorizationCode: '123456' }, 400),
    ]);
    expect((await opened.tap(10_00, 300)).result).toMatchObject({ kind: 'failed', reason: 'deadline', written: true });
    expect((await opened.tap(20_00, 60_000)).result).toMatchObject({ kind: 'responded' });
    expect((await opened.tap(20_00, 100)).result).toMatchObject({ kind: 'failed', reason: 'deadline' });
  });

  test('approves the recorded part of the amount', async () => {
    const partial = { responseCode: '10', authorizationCode: '123456', amountMinor: 3_00 };
    const opened = await open(processor, [line(processor, 10_00, partial)]);
    expect((await opened.tap(10_00)).outcome).toMatchObject({ kind: 'approved', approvedMinor: 3_00 });
    expect((await opened.tap(2_00)).outcome).toMatchObject({ kind: 'approved', approvedMinor: 1_00 });
  });
});

test.each([
  ['{"type": "type-1"', 'line 2: not JSON'],
  ['{"type": "type-1", "request": "30", "response": null}', 'line 2: tookMs'],
  ['{"type": "type-1", "request": "3", "response": null, "tookMs": 1}', 'line 2: request: hex'],
  ['{"type": "type-1", "request": "30", "response": null, "tookMs": -1}', 'line 2: tookMs'],
  ['{"type": "type-1", "request": "30313030", "response": null, "tookMs": 1}', 'line 2: not a message of type-1'],
  [`{"type": "type-1", "request": "${'30'.repeat(20_000)}", "response": null, "tookMs": 1}`, 'line 2: request'],
])('a line %s is named without its content', (bad, reason) => {
  const good = line(TYPES[0]!, 10_00, { responseCode: '00' });
  const read = () => readRecording(`${good}\n${bad}`, TYPES[0]!, withoutMacs(TYPES[0]!));
  expect(read).toThrow(reason);
  expect(read).not.toThrow(/3030303030/);
});

test('lines of other types, network messages and empty lines are left out', () => {
  const [one, two] = TYPES as [Processor, Processor];
  const echo = one.networkRequest('echo', { stan: '000001', sentAtMs: 0 }, one.exampleConfig)!;
  const bytes = new Uint8Array(512);
  const request = toHex(bytes, 0, one.codec(one.exampleConfig).encode(echo, bytes, 0));
  const network = JSON.stringify({ type: one.type, request, response: null, tookMs: 1 });
  const lines = ['', line(two, 10_00, null), network, line(one, 10_00, null), ''].join('\n');
  expect(readRecording(lines, one, withoutMacs(one))).toHaveLength(1);
});

test('more lines than an hour of traffic are refused', () => {
  expect(() => readRecording('\n'.repeat(200_001), TYPES[0]!, withoutMacs(TYPES[0]!))).toThrow(
    'more than 200000 lines',
  );
});

test('a replay has nothing for a kind that was not recorded', () => {
  const responses = readRecording(line(TYPES[0]!, 10_00, null), TYPES[0]!, withoutMacs(TYPES[0]!));
  const asked = { kind: 'refund', amountMinor: 10_00, currencyNumeric: '710' } as never;
  expect(new Replay(responses).next(asked)).toBeUndefined();
});

test('a card that acts like an amount gets the scenario of that amount for each payment', async () => {
  const opened = await open(
    TYPES[0]!,
    [],
    [{ pan: '4111111111111111', currency: 'ZAR', balance: '900.00', actsLike: '10.85' }],
  );
  expect((await opened.tap(40_00)).outcome).toMatchObject({ kind: 'approved', approvedMinor: 20_00 });
  expect((await opened.tap(10_51)).outcome).toMatchObject({ kind: 'approved' });
});

test('wrong PINs of all cards are forgotten on request', async () => {
  const zone = { keyId: 'zone-pin', format: 0, derivation: 'zone' } as const;
  const config = { ...withoutMacs(TYPES[0]!), pinKey: zone };
  simulator = await startSimulator({ processors: [{ processor: TYPES[0]!, config, port: 0 }], ledgerPort: 0 });
  const addresses = [{ host: '127.0.0.1', port: simulator.ports[0]! }];
  acquirer = new Acquirer(TYPES[0]!, { ...config, addresses });
  const wrong = () => acquirer!.tap(10_00, 10_000, { pin: { block: new Uint8Array(8) } });
  const codes = [];
  for (let tries = 0; tries < 4; tries++) codes.push((await wrong()).outcome?.responseCode);
  expect(codes).toEqual(['55', '55', '75', '75']);
  const url = `http://127.0.0.1:${simulator.ledgerPort}/pin-tries`;
  expect((await fetch(url)).status).toBe(405);
  expect((await fetch(url, { method: 'DELETE' })).status).toBe(204);
  expect((await wrong()).outcome?.responseCode).toBe('55');
});
