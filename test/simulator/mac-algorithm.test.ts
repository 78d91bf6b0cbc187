import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import type1 from '../../processors/type-1/index.ts';
import { MAC_ALGORITHM_NAMES } from '../../src/codecs/crypto/mac.ts';
import { demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import type { Processor } from '../../src/kits/processor-kit/index.ts';
import { checkMacKeys } from '../../src/switching/switches/key-exchange.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

/** Each switch has a key of its own, because each algorithm takes keys of other lengths. */
const configs = MAC_ALGORITHM_NAMES.map((macAlgorithm) =>
  configSchema.parse({ ...type1.exampleConfig, macAlgorithm, macKeys: [{ number: 1, keyId: macAlgorithm }] }),
);
const hsm = demoHsm(configs, 'dev');

describe('a switch whose configuration names the algorithm of its MACs', () => {
  let simulator: Simulator;
  let acquirer: Acquirer;

  beforeAll(async () => {
    const processors = configs.map((config, index) => ({
      processor: { ...type1, type: `mac-${index}` },
      config,
      port: 0,
    }));
    simulator = await startSimulator({ processors });
  });
  afterEach(() => acquirer.pool.destroy());
  afterAll(() => simulator.close());

  function connect(index: number, differing: object = {}): Acquirer {
    const addresses = [{ host: '127.0.0.1', port: simulator.ports[index]! }];
    acquirer = new Acquirer(type1, { ...configs[index]!, addresses, ...differing }, hsm);
    return acquirer;
  }

  test.each(MAC_ALGORITHM_NAMES)('approves a tap and acknowledges its reversal with %s', async (name) => {
    const { request, outcome } = await connect(MAC_ALGORITHM_NAMES.indexOf(name)).tap(10_00);
    expect(outcome).toMatchObject({ kind: 'approved' });
    expect(await acquirer.reverse(request)).toBe('acknowledged');
  });

  test('refuses the MAC of another algorithm with the same key', async () => {
    const index = MAC_ALGORITHM_NAMES.indexOf('x9.19');
    const { result } = await connect(index, { macAlgorithm: 'tdes-cbc-mac', signOn: false }).tap(10_00);
    expect(result).toMatchObject({ kind: 'responded', response: { responseCode: '30' } });
  });
});

test('a key of another length keeps a processor from being opened, and the algorithm is named', async () => {
  const pair = new SoftHsm({ environment: 'dev', keys: [demoKey('pair', 'mac')] });
  const config = (macAlgorithm?: string) =>
    configSchema.parse({ ...type1.exampleConfig, macAlgorithm, macKeys: [{ number: 1, keyId: 'pair' }] });
  const open = (macAlgorithm?: string) =>
    checkMacKeys(type1 as unknown as Processor, config(macAlgorithm), pair, 'type-1');
  await expect(open('x9.9')).rejects.toThrow('the HSM refuses a key of macKeys (pair) for x9.9: KEY_LENGTH');
  await open('x9.19');
  await open();
  expect(configSchema.safeParse({ ...type1.exampleConfig, macAlgorithm: 'x99' }).success).toBe(false);
});
