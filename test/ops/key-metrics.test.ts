import { expect, test } from 'vitest';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import { registerKeyMetrics, registerMessageMetrics } from '../../src/observe/metrics/switch-metrics.ts';
import type { SwitchStats } from '../../src/switching/switches/acquirer-switch.ts';
import type { KeyExchangeStats } from '../../src/switching/switches/key-exchange.ts';

const KEYS: KeyExchangeStats = {
  exchanged: 5,
  failed: 2,
  lastFault: undefined,
  keys: [{ use: 'mac', number: 3, kcv: 'A1B2C3' }],
  ages: [
    { use: 'mac', ageMs: 61_400 },
    { use: 'pin', ageMs: null },
  ],
  keyless: { mac: 0, pin: 1 },
  maxAgeMs: 86_400_000,
};

async function reported(keyExchange: KeyExchangeStats | undefined): Promise<string[]> {
  const { registry } = new Metrics();
  const stats = { type: 'type-1', keyExchange } as SwitchStats;
  registerKeyMetrics(registry, [['1 7', { stats }]]);
  const text = await registry.metrics();
  return text.split('\n').filter((line) => /^tapwire_(key|working)/.test(line));
}

test('key exchanges are counted by processor and result, with the age of each key in use', async () => {
  const where = 'acquirer="1",processor="7",type="type-1"';
  expect(await reported(KEYS)).toEqual([
    `tapwire_key_exchanges_total{${where},result="exchanged"} 5`,
    `tapwire_key_exchanges_total{${where},result="failed"} 2`,
    `tapwire_working_key_missing{${where},use="mac"} 0`,
    `tapwire_working_key_missing{${where},use="pin"} 1`,
    `tapwire_working_key_age_seconds{${where},use="mac"} 61`,
    `tapwire_working_key_max_age_seconds{${where},use="mac"} 86400`,
    `tapwire_working_key_max_age_seconds{${where},use="pin"} 86400`,
  ]);
});

test('no age is due if the switch decides when to change keys; nothing is reported without key changes', async () => {
  expect((await reported({ ...KEYS, maxAgeMs: null })).join()).not.toContain('max_age');
  expect(await reported(undefined)).toEqual([]);
});

test('stored, dropped and waiting messages are reported', async () => {
  const { registry } = new Metrics();
  registerMessageMetrics(registry, { counts: { kept: 3, dropped: 1, waitingBytes: 900 } });
  const text = await registry.metrics();
  for (const line of [
    'tapwire_exchanges_total{result="kept"} 3',
    'tapwire_exchanges_total{result="dropped"} 1',
    'tapwire_exchanges_waiting_bytes 900',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});
