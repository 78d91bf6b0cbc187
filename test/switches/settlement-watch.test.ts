import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import type { Processor } from '../../src/kits/processor-kit/processor.ts';
import { SettlementWatch } from '../../src/switching/switches/received-messages.ts';
import { standardFieldReader } from '../../src/switching/switches/standard-fields.ts';

const cutOver = type1.networkRequest('cutOver', { stan: '000001', sentAtMs: 0 }, type1.exampleConfig)!;
const echo = type1.networkRequest('echo', { stan: '000002', sentAtMs: 0 }, type1.exampleConfig)!;

function watch(isTrusted: () => Promise<boolean> = async () => true) {
  const announced: (string | undefined)[] = [];
  const watching = new SettlementWatch({
    acquirerId: 1,
    processorId: 1,
    processor: type1 as Processor,
    fieldsOf: standardFieldReader(type1),
    dates: { announce: (_key, monthDay) => void announced.push(monthDay) },
    isTrusted,
  });
  return { watching, announced };
}

const responseOf = (settlementDate?: string): IsoMessage => ({ mti: '0210', settlementDate });

test('a settlement date is announced once, not with every response that names it', () => {
  const { watching, announced } = watch();
  for (const date of ['1120', '1120', undefined, '1121', '1121']) watching.noteResponse(responseOf(date));
  expect(announced).toEqual(['1120', '1121']);
});

test('a cut-over is announced with its date, and no other request is', async () => {
  const { watching, announced } = watch();
  await watching.noteRequest(echo);
  await watching.noteRequest({ ...cutOver, settlementDate: '1121' });
  await watching.noteRequest(cutOver);
  expect(announced).toEqual(['1121', undefined]);
});

test('a cut-over with a bad MAC does not count', async () => {
  const { watching, announced } = watch(async () => false);
  await watching.noteRequest(cutOver);
  expect(announced).toEqual([]);
});

test('cut-overs do not accumulate while the keys to verify them are unavailable, and echoes wait for none', async () => {
  const keys = Promise.withResolvers<boolean>();
  let judged = 0;
  const { watching, announced } = watch(() => {
    judged++;
    return keys.promise;
  });
  await watching.noteRequest(echo);
  const noted = Array.from({ length: 1_000 }, () => watching.noteRequest(cutOver));
  expect(judged).toBeLessThan(100);
  keys.resolve(true);
  await Promise.all(noted);
  expect(announced).toHaveLength(judged);
});
