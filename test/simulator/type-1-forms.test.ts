import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { simulate } from '../../processors/type-1/simulate.ts';
import { codecs } from '../../processors/type-1/spec.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

describe.each(['bitmap', 'xml'] as const)('a simulated switch configured for 127.25 as %s', (form) => {
  let simulator: Simulator;
  const acquirers: Acquirer[] = [];
  beforeEach(async () => {
    const config = { ...type1.exampleConfig, iccForm: form };
    simulator = await startSimulator({ processors: [{ processor: type1, config, port: 0 }] });
  });
  afterEach(async () => {
    for (const { pool } of acquirers.splice(0)) pool.destroy();
    await simulator.close();
  });

  test.each(['bitmap', 'xml'] as const)('approves a tap with %s and responds in that form', async (iccForm) => {
    const addresses = [{ host: '127.0.0.1', port: simulator.ports[0]! }];
    const acquirer = new Acquirer(type1, { ...type1.exampleConfig, addresses, iccForm } as never);
    acquirers.push(acquirer);
    const { outcome } = await acquirer.tap(1_000);
    expect(outcome).toMatchObject({
      kind: 'approved',
      cardTags: expect.arrayContaining([expect.objectContaining({ tag: '91' })]),
    });
  });
});

test('a bitmap that 127.25 does not define is refused, whichever form is configured', () => {
  const request = type1.authorization(testPurchase(), type1.exampleConfig);
  const target = new Uint8Array(4_096);
  const bytes = target.subarray(0, codecs.bitmap.encode(request, target, 0));
  const spoilt = Buffer.from(bytes);
  const firstElement = spoilt.lastIndexOf('000000001234000000000000'); // 127.25.2 and 127.25.3 follow the bitmap
  expect(firstElement).toBeGreaterThan(0);
  spoilt.write('1', firstElement - 1, 'latin1'); // announces 127.25.64
  for (const form of ['bitmap', 'xml'] as const) {
    expect(() => codecs[form].decode(spoilt)).toThrow(/127\.25/);
    expect(codecs[form].decode(bytes)).toMatchObject({ switchData: { icc: { cryptogram: '1122334455667788' } } });
  }
});

test.each([
  ['Visa', '70'],
  ['Mastercard', '65'],
  ['Amex', '1A'],
] as const)('a %s card whose number is only in DE35 is asked for its PIN in the way of its scheme', (scheme, code) => {
  const {
    pan: _pan,
    switchData: _chip,
    ...request
  } = type1.authorization(testPurchase({ scheme }), type1.exampleConfig);
  const response = simulate(request, { responseCode: '00', asksForPin: true });
  expect(response.responseCode).toBe(code);
  if (code !== '1A') expect(type1.readOutcome(response, request).kind).toBe('pinRequired'); // 1A needs tag 91
});
