import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import { TROUBLE_CODES } from '../classify-outcome.ts';
import type { IsoMessage } from '../iso-fields.ts';
import type { Reversal, ReversalReason } from '../purchase.ts';
import {
  type Check,
  overTheWire,
  respond,
  respondWith,
  type Subject,
  secretsOf,
  TAPPED_AT_MS,
  testPurchase,
} from './check.ts';

const REASONS: readonly ReversalReason[] = ['timeout', 'unusable-response', 'void', 'late-approval'];

const ATTEMPTS = [1, 2, 3];

/** How an approved amount is reversed or refunded. */
export const reversalChecks: readonly Check[] = [
  {
    name: 'the original data of a request are text without sensitive authentication data',
    run({ processor, config }) {
      const purchase = testPurchase({ pin: { block: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8) } });
      const kept = processor.originalData(processor.authorization(purchase, config));
      const [, , track2, pinBlock] = secretsOf(purchase);
      for (const [name, value] of Object.entries(kept)) {
        expectThat(typeof value === 'string', `${name} is not text`);
        expectThat(!value.includes(track2!) && !value.includes(pinBlock!), `${name} contains a track or a PIN`);
        expectThat(!/D30122010/.test(value), `${name} contains a track`);
      }
    },
  },
  {
    name: 'a reversal names its original, on each attempt and for every reason',
    run(subject) {
      const { processor } = subject;
      const original = processor.readRequest(overTheWire(subject, authorization(subject)));
      for (const reason of REASONS) {
        for (const attempt of ATTEMPTS) {
          const read = processor.readRequest(overTheWire(subject, reversal(subject, { reason, attempt })));
          expectEqual(read.kind, 'reversal', 'kind');
          expectEqual(read.faults.join(', '), '', 'mandatory fields missing');
          expectEqual(read.originalKey, original.key, 'original');
          expectEqual(read.isRepeat, attempt > 1, `repeat at attempt ${attempt}`);
          expectEqual(read.rrn, original.rrn, 'RRN');
          expectEqual(read.tid, original.tid, 'terminal');
        }
      }
    },
  },
  {
    name: 'a reversal carries the STAN that it is given',
    run(subject) {
      const stan = subject.processor.profile.reversal.keepsStan ? '000123' : '000124';
      const read = subject.processor.readRequest(overTheWire(subject, reversal(subject, {})));
      expectEqual(read.stan, stan, 'STAN');
    },
  },
  {
    name: 'original data are unchanged after storage as JSON',
    run(subject) {
      const { processor, config } = subject;
      const kept = JSON.parse(JSON.stringify(processor.originalData(authorization(subject))));
      const message = processor.reversal({ ...reversalOf(subject, {}), original: kept }, config);
      expectEqual(processor.readRequest(overTheWire(subject, message)).faults.join(', '), '', 'missing');
    },
  },
  {
    name: 'a late response is understood with the original data of its request alone',
    run(subject) {
      const { processor } = subject;
      const request = authorization(subject);
      const kept: IsoMessage = { mti: '', ...processor.originalData(request) };
      const late = (responseCode: string) => {
        return processor.readOutcome(respond(subject, request, { responseCode, authorizationCode: '123456' }), kept);
      };
      expectEqual(late('00').kind, 'approved', 'an approval');
      expectEqual(late('00').authorizationCode, '123456', 'its DE38');
      expectEqual(late('05').kind, 'declined', 'a decline');
    },
  },
  {
    name: 'an acknowledgement is distinguished from a refusal',
    run(subject) {
      const { processor } = subject;
      const { codes } = processor.profile.reversal;
      const responseWith = (code: string) => respondWith(subject, reversal(subject, {}), code);
      for (const [meaning, listed] of Object.entries(codes)) {
        for (const code of listed) expectEqual(processor.readReversalResponse(responseWith(code)), meaning, code);
      }
      for (const code of [...codes.acknowledged, ...codes.unableToLocate]) {
        expectThat(processor.isReversalAcknowledged(responseWith(code)), `${code} does not acknowledge`);
      }
      for (const code of [...codes.duplicate, ...codes.refused, ...codes.undecided]) {
        expectThat(!processor.isReversalAcknowledged(responseWith(code)), `${code} acknowledges`);
      }
      const unknown = respond(subject, reversal(subject, {}), { responseCode: 'ZZ' });
      expectThat(!processor.isReversalAcknowledged(unknown), 'a code in no table acknowledges');
    },
  },
  {
    name: 'a code that reports a fault of the switch or the issuer, or a code in no table, never refuses a reversal',
    run(subject) {
      const { processor } = subject;
      for (const code of [...TROUBLE_CODES, 'ZZ']) {
        const read = processor.readReversalResponse(respond(subject, reversal(subject, {}), { responseCode: code }));
        expectEqual(read, 'undecided', code);
      }
    },
  },
  {
    name: '"no action taken" and "duplicate transmission" do not acknowledge a reversal',
    run(subject) {
      const { processor } = subject;
      for (const code of ['21', '94']) {
        const read = processor.readReversalResponse(respond(subject, reversal(subject, {}), { responseCode: code }));
        expectThat(read !== 'acknowledged', `${code} acknowledges`);
      }
    },
  },
  {
    name: 'a response to a sale does not acknowledge a reversal, and an acknowledgement does not approve a sale',
    run(subject) {
      const sale = authorization(subject);
      const response = { responseCode: '00', authorizationCode: '123456' };
      const toSale = respond(subject, sale, response);
      const toReversal = respond(subject, reversal(subject, {}), response);
      expectThat(!subject.processor.isReversalAcknowledged(toSale), 'the approval of a sale acknowledges');
      expectEqual(subject.processor.readOutcome(toReversal, sale).kind, 'unknown', 'an acknowledgement as approval');
    },
  },
  { name: 'a refund is read as a refund of its amount, and can be approved', run: refund },
  { name: 'a mandate authorization is read as an authorization, and can be approved', run: mandate },
];

function authorization({ processor, config }: Subject): IsoMessage {
  return processor.authorization(testPurchase(), config);
}

function reversalOf(subject: Subject, differing: Partial<Reversal>): Reversal {
  const { processor } = subject;
  return {
    original: processor.originalData(authorization(subject)),
    reason: 'timeout',
    attempt: 1,
    stan: processor.profile.reversal.keepsStan ? '000123' : '000124',
    sentAtMs: TAPPED_AT_MS + 40_000,
    localDateTime: '20261120161045',
    ...differing,
  };
}

function reversal(subject: Subject, differing: Partial<Reversal>): IsoMessage {
  return subject.processor.reversal(reversalOf(subject, differing), subject.config);
}

function refund(subject: Subject): void {
  const { processor, config } = subject;
  if (processor.refund === undefined) return;
  const message = processor.refund(
    {
      original: processor.originalData(authorization(subject)),
      stan: '000200',
      rrn: '632415000200',
      sentAtMs: TAPPED_AT_MS + 3_600_000,
      localDateTime: '20261120171005',
      amount: { amountMinor: 500, currency: 'ZAR', currencyNumeric: '710' },
    },
    config,
  );
  const read = processor.readRequest(overTheWire(subject, message));
  expectEqual(read.kind, 'refund', 'kind');
  expectEqual(read.faults.join(', '), '', 'mandatory fields missing');
  expectEqual(read.amountMinor, 500, 'amount');
  const outcome = processor.readOutcome(respond(subject, message, { responseCode: '00' }), message);
  expectEqual(outcome.kind, 'approved', 'an approved refund');
}

function mandate(subject: Subject): void {
  const { processor, config } = subject;
  if (processor.mandateAuthorization === undefined) return;
  const message = processor.mandateAuthorization(testPurchase(), config);
  const read = processor.readRequest(overTheWire(subject, message));
  expectEqual(read.kind, 'authorization', 'kind');
  expectEqual(read.faults.join(', '), '', 'mandatory fields missing');
  const outcome = processor.readOutcome(respond(subject, message, { responseCode: '00' }), message);
  expectEqual(outcome.kind, 'approved', 'an approved mandate');
}
