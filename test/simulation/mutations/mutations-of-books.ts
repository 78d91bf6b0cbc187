import type { Mutation } from './mutation.ts';

const REVIEW = 'src/payments/model/review.ts';

/** What only an honest switch shows: it compares other fields than the gateway thinks, and its books are right. */
export const MUTATIONS_OF_BOOKS: readonly Mutation[] = [
  {
    name: 'two tills send the same numbers',
    file: 'processors/type-1/profile.ts',
    before: "  stanScope: 'acquirer',",
    after: "  stanScope: 'terminal',",
    also: [
      {
        file: 'src/kits/processor-kit/define-processor.ts',
        before: '  if (scope !== undefined) refuse(',
        after: "  if (scope === 'never') refuse(",
      },
    ],
    meaning: 'two tills with one STAN in one second share 127.2 and DE37: a switch takes the second sale for the first',
    hunt: { by: 'exploration', cases: ['two tills, 127.2 identifies'], depth: 3 },
  },
  {
    name: 'DE37 lacks a digit of the STAN',
    file: 'src/kits/processor-kit/field-values.ts',
    before: `padStart(2, '0')}\${stan}\`;`,
    after: `padStart(2, '0')}\${stan.slice(0, 5)}0\`;`,
    meaning: 'ten messages in an hour share DE37 and 127.2: a switch reverses another one',
    hunt: { by: 'exploration', cases: ['two tills, DE37 identifies'], depth: 3 },
  },
  {
    name: 'a review does not block its sale',
    file: REVIEW,
    before: '  return sale.needsReview || related.some(({ needsReview }) => needsReview);',
    after: '  return sale.needsReview && related.length > 1_000;',
    meaning: 'a sale is refunded while a void of it is in review',
    hunt: { by: 'exploration', cases: ['refunds and a void, cuts over'], depth: 3 },
  },
  {
    name: 'a review does not hold its amount',
    file: REVIEW,
    before: '!RELEASING_DISPOSITIONS.includes(disposition) || isInDoubt(doubt);',
    after: '!RELEASING_DISPOSITIONS.includes(disposition) || isInDoubt({ ...doubt, needsReview: false });',
    meaning: 'a tap that is booked, and in review after 94, releases its link: the next phone pays again',
    hunt: { by: 'exploration', cases: ['a link, DE37 identifies'], depth: 3 },
  },
  {
    name: 'a code of trouble declines',
    file: 'src/kits/processor-kit/response-codes.ts',
    before: "  ...['58', '59',",
    after: "  ...['06', '58', '59',",
    meaning: 'a sale that the switch has booked, and answered 06, is Declined and not reversed',
    hunt: { by: 'exploration', cases: ['one sale, trouble'], depth: 2 },
  },
  {
    name: 'a second approval is dropped',
    file: 'src/payments/reversals/late-response.ts',
    before: 'const isContradiction = isSecond || isWithdrawn',
    after: 'const isContradiction = (isSecond && nowMs < 0) || isWithdrawn',
    meaning: 'a request that the switch has booked twice, with two DE38, needs no review',
    hunt: { by: 'exploration', cases: ['one sale, nothing identifies'], depth: 3 },
  },
  {
    name: 'a second approval in the same read is dropped',
    file: 'src/switching/switches/unmatched-intake.ts',
    before: '      get approved() {\n        return approvals.find(identity);\n      },',
    after: '      approved: approvals.find(identity),',
    meaning: 'the second approval of a request is taken before the first is noted, and never looked up again',
    hunt: { by: 'test', file: 'test/flow/second-approval.test.ts' },
  },
  {
    name: 'a decline after the approval is dropped',
    file: 'src/payments/reversals/late-response.ts',
    before: "return kind === 'declined' && disposition === Disposition.Approved;",
    after: "return kind === 'declined' && disposition === null;",
    meaning: 'a sale that the switch has approved for the issuer, who then declines it, can be refunded',
    hunt: { by: 'exploration', cases: ['one sale, approves for the issuer'], depth: 3 },
  },
  {
    name: 'a PIN beside a review',
    file: 'src/store/transactions/commit-pin-attempts.ts',
    before: `\n    and not \${IS_IN_DOUBT('t')}`,
    after: '',
    meaning: 'a PIN is sent although the first message was approved late and may have taken the amount',
    hunt: { by: 'comparison with Postgres' },
  },
];
