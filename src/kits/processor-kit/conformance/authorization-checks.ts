import { RESPONSE_CODES } from '#schemas/response-codes';
import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import type { IsoMessage } from '../iso-fields.ts';
import { meaningOf } from '../profile.ts';
import { profileOf } from '../switch-protocol.ts';
import {
  bytesOf,
  type Check,
  outcomeOf,
  outcomeWith,
  overTheWire,
  respond,
  type Subject,
  TAPPED_AT_MS,
  TEST_SCHEMES,
  testPurchase,
} from './check.ts';

/** Codes of 7.5 that no profile may list as approval or decline: they leave the issuer's action unknown. */
const NEVER_DECIDED = ['09', '32', '68', 'ZZ'];

const APPROVED = { responseCode: '00', authorizationCode: '123456' };

const request = ({ processor, config }: Subject) => processor.authorization(testPurchase(), config);

/** How an authorization is sent, and what each response to it means. */
export const authorizationChecks: readonly Check[] = [
  {
    name: 'the same purchase gives the same bytes and is not modified',
    run(subject) {
      const { processor, config, codec } = subject;
      const purchase = Object.freeze(testPurchase());
      const [first, second] = [0, 1].map(() => {
        const bytes = bytesOf(codec, processor.authorization(purchase, config), processor.framing.maxFrameBytes);
        return Buffer.from(bytes).toString('hex');
      });
      expectThat(first === second, 'two messages of one purchase differ');
    },
  },
  {
    name: 'the switch reads the values that were sent: amount, currency, STAN, RRN, terminal',
    run(subject) {
      const purchase = testPurchase();
      const read = subject.processor.readRequest(overTheWire(subject, request(subject)));
      expectEqual(read.kind, 'authorization', 'kind');
      expectEqual(read.faults.join(', '), '', 'mandatory fields missing');
      expectEqual(read.amountMinor, purchase.amount.amountMinor, 'amount');
      expectEqual(read.currencyNumeric, purchase.amount.currencyNumeric, 'currency');
      expectEqual(read.stan, purchase.stan, 'STAN');
      expectEqual(read.rrn, purchase.rrn, 'RRN');
      expectEqual(read.tid, purchase.terminal.tid, 'terminal');
      expectThat(read.pin === undefined, 'a PIN was read although none was sent');
    },
  },
  {
    name: 'the smallest and the largest amount fit',
    run(subject) {
      for (const amountMinor of [1, 999_999_999_999]) {
        const purchase = testPurchase({ amount: { amountMinor, currency: 'ZAR', currencyNumeric: '710' } });
        const message = subject.processor.authorization(purchase, subject.config);
        expectEqual(subject.processor.readRequest(overTheWire(subject, message)).amountMinor, amountMinor, 'amount');
      }
    },
  },
  {
    name: 'each approval code approves the requested amount, with the authorization code',
    run(subject) {
      const { codes } = subject.processor.profile;
      for (const code of codes.approved) {
        const outcome = outcomeWith(subject, request(subject), code, { authorizationCode: APPROVED.authorizationCode });
        expectThat(outcome.kind === 'approved', `${code} is ${outcome.kind}`);
        expectEqual(outcome.approvedMinor, testPurchase().amount.amountMinor, 'approved amount');
        expectEqual(outcome.authorizationCode, APPROVED.authorizationCode, 'authorization code');
        expectEqual(outcome.responseCode, meaningOf(codes, code), 'response code');
      }
    },
  },
  {
    name: 'each decline code declines',
    run(subject) {
      const { declined, review, pinRequired } = subject.processor.profile.codes;
      for (const responseCode of [...declined, ...review]) {
        const { kind } = outcomeWith(subject, request(subject), responseCode);
        const mayAsk = pinRequired.some(({ code }) => code === responseCode);
        expectThat(kind === 'declined' || (mayAsk && kind === 'pinRequired'), `${responseCode} is ${kind}`);
      }
    },
  },
  {
    name: 'a code that is in no table, or that leaves the outcome open, is unknown',
    run(subject) {
      for (const responseCode of NEVER_DECIDED) {
        expectEqual(outcomeOf(subject, request(subject), { responseCode }).kind, 'unknown', responseCode);
      }
    },
  },
  {
    name: "a code that only one scheme uses is unknown for another scheme's cards",
    run(subject) {
      const { pinRequired } = subject.processor.profile.codes;
      for (const { code: responseCode } of pinRequired) {
        if (RESPONSE_CODES[responseCode] !== undefined) continue; // it also has a general meaning
        for (const scheme of TEST_SCHEMES) {
          if (pinRequired.some((row) => row.code === responseCode && (row.scheme ?? scheme) === scheme)) continue;
          const asked = subject.processor.authorization(testPurchase({ scheme }), subject.config);
          expectEqual(outcomeWith(subject, asked, responseCode).kind, 'unknown', `${responseCode} for ${scheme}`);
        }
      }
    },
  },
  {
    name: 'each scheme requests a PIN with its code',
    run(subject) {
      for (const scheme of TEST_SCHEMES) {
        const asked = subject.processor.authorization(testPurchase({ scheme }), subject.config);
        const outcome = outcomeOf(subject, asked, { responseCode: '', asksForPin: true });
        expectEqual(outcome.kind, 'pinRequired', scheme);
      }
    },
  },
  {
    name: 'a PIN block reaches the switch unchanged',
    run(subject) {
      const pin = { block: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), ksn: Uint8Array.of(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) };
      const message = subject.processor.authorization(testPurchase({ pin }), subject.config);
      const read = subject.processor.readRequest(overTheWire(subject, message));
      expectThat(read.pin !== undefined, 'no PIN was read');
      expectThat(Buffer.compare(read.pin.block, pin.block) === 0, 'another PIN block was read');
    },
  },
  { name: 'a partial approval counts only if the profile allows it', run: partialApproval },
  { name: 'a response that belongs to another request is unknown', run: foreignResponses },
  {
    name: 'provider fields are text and contain no card data',
    run(subject) {
      const { processor, config } = subject;
      const purchase = testPurchase();
      const response = respond(subject, request(subject), APPROVED);
      const values = { ...processor.providerId(config, purchase.terminal), ...processor.providerFields(response) };
      for (const [name, value] of Object.entries(values)) {
        expectThat(typeof value === 'string', `${name} is not text`);
        expectThat(!value.includes(purchase.card.pan.slice(6, -4)), `${name} contains a PAN`);
      }
    },
  },
];

function partialApproval(subject: Subject): void {
  const [responseCode] = subject.processor.profile.codes.partial;
  if (responseCode === undefined) return;
  for (const allowed of [true, false]) {
    const config = { ...subject.config, profile: { ...subject.config.profile, partialApproval: allowed } };
    expectEqual(profileOf(subject.processor, config).partialApproval, allowed, 'the configured profile');
    const asked = subject.processor.authorization(testPurchase(), config);
    const { authorizationCode } = APPROVED;
    const outcome = outcomeWith(subject, asked, responseCode, { authorizationCode, amountMinor: 600 });
    expectEqual(outcome.kind, allowed ? 'approved' : 'unknown', `${responseCode}, allowed ${allowed}`);
    if (outcome.kind === 'approved') expectEqual(outcome.approvedMinor, 600, 'approved amount');
  }
}

function foreignResponses(subject: Subject): void {
  const { processor } = subject;
  const asked = request(subject);
  const expectUnknown = (response: IsoMessage, what: string) =>
    expectEqual(processor.readOutcome(response, asked).kind, 'unknown', what);
  expectUnknown(respond(subject, asked, { ...APPROVED, amountMinor: 999 }), 'another amount');
  expectUnknown(respond(subject, asked, { ...APPROVED, isOtherStan: true }), 'another STAN');
  const good = respond(subject, asked, APPROVED);
  expectUnknown({ ...good, mti: `${good.mti.charAt(0)}810` }, 'another message type');
  for (const field of processor.profile.echoed) {
    expectThat(good[field] !== undefined, `${field} is not returned`);
    expectUnknown({ ...good, [field]: undefined }, `without ${field}`);
    expectUnknown({ ...good, [field]: 'another' }, `another ${field}`);
  }
  expectUnknown({ mti: good.mti }, 'an empty response');
}

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
