import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import { readSimulateOptions } from '../../src/cli/simulate-options.ts';
import type { Processor } from '../../src/kits/processor-kit/index.ts';

const TYPES = new Map<string, Processor>([type1, type2].map((each) => [each.type, each]));
const read = (...words: string[]) => readSimulateOptions(words, TYPES)!;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-simulate-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: string): string {
  const path = join(folder, `${Math.random()}.json`);
  writeFileSync(path, content);
  return path;
}

test('any mix of types is started, each on its port', () => {
  const { processors } = read('type-1=9101', 'type-2=9201', 'type-1=0');
  expect(processors.map(({ processor, port }) => [processor.type, port])).toEqual([
    ['type-1', 9101],
    ['type-2', 9201],
    ['type-1', 0],
  ]);
});

test('the command without arguments is one type 1 switch, without faults, on this machine alone', () => {
  const options = read();
  expect(options.processors).toMatchObject([{ processor: { type: 'type-1' }, port: 9101 }]);
  expect(options).toMatchObject({ host: '127.0.0.1', ledgerPort: 0, faults: {} });
});

test('a switch follows the protocol unless configured otherwise', () => {
  expect(read().behaviour).toBe('correct');
  expect(read('--behaviour', 'arbitrary', '--seed', '7')).toMatchObject({ behaviour: 'arbitrary', seed: 7 });
  expect(() => read('--behaviour', 'bad')).toThrow('--behaviour bad: expected correct, faulty or arbitrary');
});

test('every fault has a flag, as a percentage or a share', () => {
  const { faults } = read(
    ...['--drop', '0.1%', '--late', '0.002', '--duplicate', '3%', '--garble', '0%', '--disconnect', '0.5%'],
    ...['--decline', '5%'],
  );
  expect(faults).toEqual({ drop: 0.001, late: 0.002, duplicate: 0.03, garble: 0, disconnect: 0.005, decline: 0.05 });
});

test('latency, seed, host, ledger and deadline are taken as given', () => {
  const options = read(
    ...['--latency', 'lognormal:8ms,p99=40ms', '--seed', '42', '--host', '::1', '--ledger', '9102'],
    ...['--deadline', '30s'],
  );
  expect(options).toMatchObject({ latency: 'lognormal:8ms,p99=40ms', seed: 42, host: '::1', ledgerPort: 9102 });
  expect(options.processors[0]).toMatchObject({ deadlineMs: 30_000 });
  expect(read('--deadline', '1500ms').processors[0]).toMatchObject({ deadlineMs: 1_500 });
});

test('keys are changed at the given interval, under a transport key of the type', () => {
  const config = file(JSON.stringify({ macKeys: [{ number: 7, keyId: 'm' }] }));
  const { changeKeysEveryMs, processors } = read(
    'type-1=0',
    'type-2=0',
    '--change-keys',
    '5s',
    '--config',
    `type-1=${config}`,
  );
  expect(changeKeysEveryMs).toBe(5_000);
  expect(processors.map((each) => each.config?.keyExchange)).toMatchObject([
    { transportKeyId: 'type-1-transport', form: 'cryptogram', keys: ['mac'] },
    { transportKeyId: 'type-2-transport', form: 'keyBlock', keys: ['mac'] },
  ]);
  expect(() => read('type-1=0', '--change-keys', '5s')).toThrow(/type-1 has no key to exchange/);
  expect(() => read('type-2=0', '--change-keys', 'often')).toThrow(/--change-keys often: expected 30s or 1500ms/);
});

test('a configuration from a file overrides the example of its type', () => {
  const path = file('{ "iccForm": "xml", "macKeys": [{ "number": 7, "keyId": "north-mac" }] }');
  const [simulated] = read('type-1=0', '--config', `type-1=${path}`).processors;
  expect(simulated?.config).toMatchObject({ iccForm: 'xml', acquirerId: '50001', macKeys: [{ keyId: 'north-mac' }] });
});

describe('a fault is named', () => {
  test.each([
    [['type-9=9101'], 'type-9=9101: expected TYPE=PORT with one of type-1, type-2'],
    [['type-1'], 'type-1: expected TYPE=PORT'],
    [['type-1=http'], 'type-1=http: expected a whole number'],
    [['type-1=65536'], 'type-1=65536: expected a whole number of at most 65535'],
    [['--drop', '2'], '--drop 2: expected a share'],
    [['--drop', '-1%'], '--drop'],
    [['--decline', 'often'], '--decline often: expected a share'],
    [['--deadline', '30'], '--deadline 30: expected 30s or 1500ms'],
    [['--seed', 'x'], '--seed: expected a whole number'],
    [['--ledger', 'x'], '--ledger: expected a whole number'],
    [['--rain', '1%'], "Unknown option '--rain'"],
    [['--config', 'type-1=./nowhere.json'], './nowhere.json: There is no such file'],
    [['type-1=0', '--config', 'type-2=x.json'], 'x.json: There is no such file'],
  ])('%j', (words, reason) => {
    expect(() => read(...words)).toThrow(reason);
  });

  test('a file that is not JSON, or not a configuration of its type', () => {
    expect(() => read('--config', `type-1=${file('{')}`)).toThrow('JSON');
    expect(() => read('--config', `type-1=${file('{ "iccForm": "yaml" }')}`)).toThrow('iccForm');
  });

  test('a configuration for a switch that is not started', () => {
    expect(() => read('type-1=0', '--config', `type-2=${file('{}')}`)).toThrow('no switch of type type-2');
  });
});

describe('chip cards', () => {
  const card = {
    name: 'own',
    pan: '4761739001010010',
    version: 'visa-18',
    issuerKey: '0123456789ABCDEFFEDCBA9876543210',
  };

  test('are those of the command tap, those of a file, or none', () => {
    expect(read().chipCards).toBeUndefined();
    expect(read('--issuer', 'test').chipCards?.map(({ name }) => name)).toContain('mastercard-17');
    const { chipCards, isExplaining } = read('--issuer', file(JSON.stringify([card])), '--explain');
    expect(chipCards).toEqual([{ ...card, sequence: '01' }]);
    expect(isExplaining).toBe(true);
  });

  test.each([
    [{ ...card, pan: '4761' }, '0.pan: 12 to 19 digits'],
    [{ ...card, issuerKey: '01' }, '0.issuerKey: 32 hex digits'],
    [{ ...card, version: 'visa-11' }, '0.version'],
    [{ ...card, noCvmLimitMinor: -1 }, '0.noCvmLimitMinor'],
    [{ ...card, scripts: { 72: '9F1' } }, '0.scripts.72'],
    [{ ...card, balance: '1.00' }, 'balance'],
  ])('are refused with the place of the fault, and without their values: %o', (wrong, place) => {
    const path = file(JSON.stringify([wrong]));
    expect(() => read('--issuer', path)).toThrow(place);
    expect(() => read('--issuer', path)).not.toThrow(/476173|0123456789ABCDEF/);
  });

  test('are explained only if they are verified', () => {
    expect(() => read('--explain')).toThrow('--explain: needs --issuer');
  });
});
