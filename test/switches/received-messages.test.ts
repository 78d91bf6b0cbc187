import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { recordMacVerdict } from '../../src/kits/processor-kit/mac-layout.ts';
import { ReceivedMessages } from '../../src/switching/switches/received-messages.ts';
import { standardFieldReader } from '../../src/switching/switches/standard-fields.ts';

type Parts = ConstructorParameters<typeof ReceivedMessages>[0];

const response = () => type1.simulate(type1.authorization(testPurchase(), type1.exampleConfig), { responseCode: '00' });

function receiving(): { received: ReceivedMessages; announced: unknown[] } {
  const announced: unknown[] = [];
  const parts: Partial<Parts> = {
    acquirerId: 1,
    processorId: 1,
    processor: type1 as never,
    config: { ...type1.exampleConfig, macKeys: [{ number: 1, keyId: 'first' }] },
    fieldsOf: standardFieldReader(type1),
    dates: { announce: (_key: unknown, date: unknown) => void announced.push(date) } as never,
  };
  return { received: new ReceivedMessages(parts as Parts), announced };
}

/** Many times the limit, so that a busy machine is not slower than it. */
const TOO_LONG_MS = 200_000;

test('a response whose MAC takes too long to check decides nothing, and its phone does not wait longer', async () => {
  const { received, announced } = receiving();
  const message = { ...response(), settlementDate: '1121' };
  recordMacVerdict(message, 'unverifiable', () => sleep(TOO_LONG_MS, 'good', { ref: false }));
  const startedAtMs = performance.now();
  await expect(received.noteResponse(message, 'line')).rejects.toThrow('too long');
  expect(performance.now() - startedAtMs).toBeLessThan(TOO_LONG_MS);
  expect(announced).toEqual([]);
});

test('a response with a good MAC is noted after the check', async () => {
  const { received, announced } = receiving();
  const message = { ...response(), settlementDate: '1121' };
  recordMacVerdict(message, 'unverifiable', async () => 'good');
  await received.noteResponse(message, 'line');
  expect(announced).toEqual(['1121']);
});
