import { afterEach, beforeEach, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-2/config.ts';
import type2 from '../../processors/type-2/index.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
} from '../../src/codecs/crypto/dukpt-tdes.ts';
import { encipherPin, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { testCard } from '../../src/kits/processor-kit/conformance/check.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

const KSN = Buffer.from('FFFF9876543210E00001', 'hex');

const config = (port: number) =>
  configSchema.parse({
    ...type2.exampleConfig,
    addresses: [{ host: '127.0.0.1', port }],
    transportHeader: '6001234567',
    pinKey: { keyId: 'type-2-bdk', format: 0, derivation: 'dukpt' },
  });

const hsm = demoHsm([config(1)], 'dev');

let events: SimulatorEvent[];
let simulator: Simulator;
let acquirer: Acquirer;

beforeEach(async () => {
  events = [];
  simulator = await startSimulator({
    processors: [{ processor: type2, config: config(1), port: 0 }],
    onEvent: (event) => events.push(event),
  });
  acquirer = new Acquirer(type2, config(simulator.ports[0]!), hsm);
});

afterEach(async () => {
  acquirer.pool.destroy();
  await simulator.close();
});

/** A PIN block from a DUKPT device of the acquirer. */
function pinOf(digits: string) {
  const { bytes } = demoKey('type-2-bdk', 'dukptBase');
  const initial = deriveTdesInitialKey(new BlockKey('tdes', bytes.reveal()), KSN);
  const key = deriveTdesWorkingKey(deriveTdesTransactionKey(initial, KSN), 'pin');
  return { block: encipherPin(0, parsePin(digits), testCard('Mastercard').pan, key), ksn: KSN };
}

test('a tap is approved after a TPDU, with MACs in both directions', async () => {
  const { outcome } = await acquirer.tap(10_00);
  expect(outcome).toMatchObject({ kind: 'approved', approvedMinor: 10_00, cardType: 'CREDIT' });
});

test('a bad MAC makes the approval unknown', async () => {
  expect((await acquirer.tap(12_86)).outcome).toMatchObject({ kind: 'unknown', why: 'MAC bad' });
});

test('a request with a MAC of another key is refused with 30, and books nothing', async () => {
  const strangers = new SoftHsm({ environment: 'dev', keys: [{ ...demoKey('another', 'mac'), keyId: 'type-2-mac' }] });
  const stranger = new Acquirer(type2, { ...config(simulator.ports[0]!), signOn: false }, strangers);
  const { result } = await stranger.tap(10_00);
  stranger.pool.destroy();
  expect(result).toMatchObject({ kind: 'responded', response: { responseCode: '30' } });
  expect(events).toEqual([{ event: 'refused', processor: 'type-2', responseCode: '30', reason: 'MAC bad' }]);
  expect(simulator.ledger.totals().approved).toBe(0);
});

test('a reversal with its own STAN finds the original', async () => {
  const { request } = await acquirer.tap(12_69, 50);
  expect(await acquirer.reverse(request)).toBe('acknowledged');
  expect(simulator.ledger.totals()).toMatchObject({ approved: 0, reversed: 1 });
});

test('Mastercard requires the PIN with the issuer’s flag, and the test PIN is approved', async () => {
  const tap = (differing = {}) => acquirer.tap(50_05, 5_000, { scheme: 'Mastercard', ...differing });
  expect((await tap()).outcome).toMatchObject({ kind: 'pinRequired', responseCode: '65' });
  expect((await tap({ pin: pinOf('12345') })).outcome).toMatchObject({ kind: 'approved' });
});

test('another PIN is accepted after a wrong one, and the third one ends it', async () => {
  const wrong = () => acquirer.tap(50_05, 5_000, { scheme: 'Mastercard', pin: pinOf('99999') });
  expect((await wrong()).outcome).toMatchObject({ kind: 'pinRequired', responseCode: '55' });
  expect((await wrong()).outcome).toMatchObject({ kind: 'pinRequired', responseCode: '55' });
  expect((await wrong()).outcome).toMatchObject({ kind: 'declined', responseCode: '75' });
});

test('a PIN block that cannot be opened is a wrong PIN', async () => {
  const pin = { block: new Uint8Array(8).fill(0x5a), ksn: KSN };
  const { outcome } = await acquirer.tap(50_05, 5_000, { scheme: 'Mastercard', pin });
  expect(outcome).toMatchObject({ kind: 'pinRequired', responseCode: '55' });
});

test('a transport header of another length is refused before any connection is opened', () => {
  const wrong = configSchema.parse({ ...type2.exampleConfig, transportHeader: '6001' });
  expect(() => new Acquirer(type2, wrong, hsm)).toThrow('transportHeader');
});
