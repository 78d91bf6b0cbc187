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
    file: 'src/kits/processor-kit/classify-outcome.ts',
    before: "  ...['58', '59',",
    after: "  ...['06', '58', '59',",
    meaning: 'a sale that the switch has booked, with 06 in its response, is Declined and not reversed',
    hunt: { by: 'exploration', cases: ['one sale, trouble'], depth: 2 },
  },
  {
    name: 'a second approval is dropped',
    file: 'src/payments/reversals/late-responses.ts',
    before: 'const isContradiction = isSecond || isDisputed',
    after: 'const isContradiction = (isSecond && nowMs < 0) || isDisputed',
    meaning: 'a request that the switch has booked twice, with two DE38, needs no review',
    hunt: { by: 'exploration', cases: ['one sale, nothing identifies'], depth: 3 },
  },
  {
    name: 'approved requests are not looked up',
    file: 'src/payments/reversals/late-responses.ts',
    before: 'const missing = isLastLookUp ? responses',
    after: 'const missing = isLastLookUp && responses.length > 1_000 ? responses',
    meaning: 'a second approval, or a decline after the approval, is dropped after a restart',
    hunt: { by: 'exploration', cases: ['one sale, nothing identifies'], depth: 4 },
  },
  {
    name: 'an unreadable response to an approved sale is dropped',
    file: 'src/payments/reversals/late-responses.ts',
    before: "(late.kind === 'declined' || isUnreadable(late));",
    after: "late.kind === 'declined';",
    meaning: 'a second approval or a decline that cannot be read, because the key of the card is lost, needs no review',
    hunt: { by: 'exploration', cases: ['refunds and a void, nothing identifies'], depth: 2 },
  },
  {
    name: 'a decline after the approval is dropped',
    file: 'src/payments/reversals/late-responses.ts',
    before: "(late.kind === 'declined' || isUnreadable(late));",
    after: 'isUnreadable(late);',
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
