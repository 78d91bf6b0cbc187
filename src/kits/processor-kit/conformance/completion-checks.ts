import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import type { Check } from './check.ts';
import { TAPPED_AT_MS, testPurchase } from './test-tap.ts';
import { overTheWire, respond } from './wire.ts';

/** How an approval is completed, if a switch of this type can require it. */
export const completionChecks: readonly Check[] = [
  {
    name: 'a completion names its approval and its amount, marks a repeat, and is accepted with 00 alone',
    run(subject) {
      const { processor, config } = subject;
      const { completion } = processor;
      if (completion === undefined) return;
      const sale = processor.authorization(testPurchase(), config);
      const { key } = processor.readRequest(overTheWire(subject, sale));
      const stamp = { stan: '000124', sentAtMs: TAPPED_AT_MS + 1_000, localDateTime: '20261120161006' };
      const approved = {
        original: processor.originalData(sale),
        amountMinor: 900,
        authorizationCode: '123456',
        ...stamp,
      };
      for (const attempt of [1, 2]) {
        const advice = completion.build({ ...approved, attempt }, config);
        const read = processor.readRequest(overTheWire(subject, advice));
        expectEqual(read.kind, 'completion', 'kind');
        expectEqual(read.originalKey, key, 'the approval that it names');
        expectEqual(read.amountMinor, 900, 'amount');
        expectEqual(read.isRepeat, attempt > 1, 'whether it is a repeat');
        expectEqual(read.faults.join(', '), '', 'mandatory fields missing');
        for (const [responseCode, isTaken] of [
          ['00', true],
          ['91', false],
        ] as const) {
          const response = respond(subject, advice, { responseCode });
          expectEqual(completion.isAcknowledged(response), isTaken, `accepted with ${responseCode}`);
        }
        expectThat(!completion.isAcknowledged(advice), 'an advice is read as its own response');
      }
    },
  },
];
