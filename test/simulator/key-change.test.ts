import { afterEach, expect, test, vi } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import type { WorkingKeyUse } from '../../src/kits/processor-kit/key-change.ts';
import type { Processor, SwitchConfig } from '../../src/kits/processor-kit/processor.ts';
import { keyExchangeConfig } from '../../src/kits/processor-kit/switch-config.ts';
import { openKeyExchange } from '../../src/switching/switches/key-exchange.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { type SimulatorEvent, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { eventually } from '../support/eventually.ts';
import { KeptKeys } from '../support/kept-keys.ts';
import { RawLine } from './raw-line.ts';
import { Acquirer } from './support.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const events: SimulatorEvent[] = [];

async function linesTo(processor: Processor, keys: readonly WorkingKeyUse[], changeKeysEveryMs?: number) {
  const { form } = processor.keyChange!;
  const transport = { transportKeyId: 'transport', form, keys, startedBy: 'switch', overlapSeconds: 20 };
  const config: SwitchConfig = {
    ...processor.exampleConfig,
    macKeys: [{ number: 1, keyId: 'first' }],
    connectionsPerAddress: 2,
    keyExchange: keyExchangeConfig.parse(transport),
  };
  events.length = 0;
  const onEvent = (event: SimulatorEvent) => events.push(event);
  const farHsm = demoHsm([config], 'dev');
  const simulator = await startSimulator({
    processors: [{ processor, config, port: 0 }],
    hsm: farHsm,
    changeKeysEveryMs,
    onEvent,
  });
  closers.push(() => simulator.close());
  const own: SwitchConfig = { ...config, addresses: [{ host: '127.0.0.1', port: simulator.ports[0]! }] };
  const hsm = demoHsm([config], 'dev');
  let stan = 500_000;
  const exchange = await openKeyExchange(
    {
      acquirerId: 1,
      processorId: 1,
      processor,
      config: own,
      clock: { monotonicMs: () => performance.now() },
      log: { info: () => {}, warn: () => {} },
      keyExchange: { hsm, kept: new KeptKeys() },
    },
    () => ({ stan: String(++stan), sentAtMs: Date.now() }),
    'the test’s switch',
  );
  closers.push(() => exchange!.close());
  const acquirer = new Acquirer(processor, own, hsm, exchange);
  closers.push(() => acquirer.pool.destroy());
  return { simulator, farHsm, acquirer, exchange: exchange! };
}

test.each([
  type1,
  type2,
  type1993,
] as Processor[])('$type: keys change on two connections under load, and every response has a good MAC', async (processor) => {
  const { simulator, acquirer, exchange } = await linesTo(processor, ['mac']);
  const outcomes: (string | undefined)[] = [];
  let isOver = false;
  const load = Array.from({ length: 32 }, async () => {
    while (!isOver) outcomes.push((await acquirer.tap(10_00)).outcome?.kind);
  });
  for (let change = 1; change <= 5; change++) {
    const before = outcomes.length;
    await eventually(() => expect(outcomes.length).toBeGreaterThan(before + 50));
    expect(await simulator.changeKeys()).toBe(1);
  }
  isOver = true;
  await Promise.all(load);
  expect(new Set(outcomes)).toEqual(new Set(['approved']));
  expect(simulator.counters()[0]).toMatchObject({ refused: 0, approved: outcomes.length });
  expect(exchange.stats).toMatchObject({ exchanged: 5, failed: 0 });
});

test.each(['x9.9', 'x9.19'] as const)('new keys have the length that %s requires', async (macAlgorithm) => {
  const exampleConfig = { ...type1.exampleConfig, macAlgorithm };
  const { simulator, farHsm, acquirer, exchange } = await linesTo({ ...type1, exampleConfig } as Processor, ['mac']);
  const generated = vi.spyOn(farHsm, 'generateKey');
  expect((await acquirer.tap(10_00)).outcome?.kind).toBe('approved');
  expect(await simulator.changeKeys()).toBe(1);
  expect(generated.mock.calls[0]![0]).toMatchObject({
    algorithm: 'tdes',
    lengthBytes: macAlgorithm === 'x9.9' ? 8 : 16,
  });
  expect((await acquirer.tap(10_00)).outcome?.kind).toBe('approved');
  expect(exchange.stats).toMatchObject({ exchanged: 1, failed: 0 });
});

test('keys change at an interval, if configured', async () => {
  const { acquirer, exchange } = await linesTo(type2 as Processor, ['mac'], 20);
  await eventually(() => expect(exchange.stats.exchanged).toBeGreaterThanOrEqual(3));
  expect((await acquirer.tap(10_00)).outcome?.kind).toBe('approved');
  expect(events).toContainEqual({ event: 'keyChanged', processor: 'type-2', reason: 'mac' });
});

test('an acquirer that requests many keys and accepts none neither stops the switch nor fills its HSM', async () => {
  const { simulator, farHsm, acquirer } = await linesTo(type1 as Processor, ['mac']);
  const forgotten = vi.spyOn(farHsm, 'forgetKey');
  const line = await RawLine.open(simulator.ports[0]!, type1 as Processor);
  closers.push(() => line.end());
  const request = (stan: string) => type1.keyChange!.request('mac', { stan, sentAtMs: 0 }, type1.exampleConfig);
  const stans = Array.from({ length: 150 }, (_, index) => String(index + 1).padStart(6, '0'));
  line.write(Buffer.concat(stans.map((stan) => line.frame(request(stan)))));
  await eventually(() => expect(forgotten.mock.calls.length).toBeGreaterThanOrEqual(140));
  expect((await acquirer.tap(10_00)).outcome?.kind).toBe('approved');
});

test('a key that cannot be generated is reported, and the previous ones remain in use', async () => {
  const { simulator, farHsm, acquirer } = await linesTo(type1 as Processor, ['mac']);
  vi.spyOn(farHsm, 'generateKey').mockRejectedValue(new Error('the HSM is unavailable'));
  await eventually(() => expect(simulator.counters()[0]!.lines).toBe(2));
  expect((await acquirer.tap(10_00)).outcome?.kind).toBe('approved');
  expect(await simulator.changeKeys()).toBe(0);
  expect(events).toContainEqual({ event: 'keyNotChanged', processor: 'type-1', reason: 'mac' });
  expect((await acquirer.tap(10_00)).outcome?.kind).toBe('approved');
});
