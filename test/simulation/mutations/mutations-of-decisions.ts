import type { Mutation } from './mutation.ts';

const SALE = { by: 'exploration', cases: ['sale'], depth: 4 } as const;

/** Decisions after responses, silence and requests. */
export const MUTATIONS_OF_DECISIONS: readonly Mutation[] = [
  {
    name: 'no response counts as unsent',
    file: 'src/payments/taps/submissions.ts',
    before: "return { kind: response.written ? 'noResponse' : 'unsent' };",
    after: "return { kind: 'unsent' };",
    meaning: 'a written request without a response is reported as never sent, and not reversed',
    hunt: SALE,
  },
  {
    name: 'a crash counts as unsent',
    file: 'src/payments/reversals/outcomes.ts',
    before: "wasSubmitted ? 'noResponse' : 'unsent'",
    after: "wasSubmitted ? 'unsent' : 'unsent'",
    meaning: 'a request that a process had sent before it died is reported as never sent, and not reversed',
    hunt: SALE,
  },
  {
    name: 'garbled is unsent',
    file: 'src/payments/decisions/decide-outcome.ts',
    before:
      "    case 'garbled':\n      return indeterminate(transaction, Status.BadResponseFromPaymentProcessor, null, nowMs);",
    after: "    case 'garbled':\n      return unableToGoOnline(transaction, nowMs);",
    meaning: 'a request with an unreadable response is reported as never sent, and its approval is not reversed',
    hunt: { by: 'histories', count: 50_000 },
  },
  {
    name: 'unknown is declined',
    file: 'src/payments/decisions/decide-outcome.ts',
    before: "  if (outcome.kind === 'unknown') {",
    after: "  if (outcome.responseCode === 'never') {",
    meaning: 'a code in no table is a decline, and the booked amount is not reversed',
    hunt: SALE,
  },
  {
    name: 'echoed fields are not compared',
    file: 'src/kits/processor-kit/define-processor.ts',
    before: '    if (response[field] !== request[field]) return',
    after: "    if (response[field] === 'never') return",
    meaning: 'a response for another amount or another card approves',
    hunt: { by: 'test', file: 'test/processors/conformance.test.ts' },
  },
  {
    name: 'the requested amount is approved',
    file: 'src/payments/decisions/decide-outcome.ts',
    before: '    approvedMinor: isApproved ? outcome.approvedMinor : null,',
    after: '    approvedMinor: isApproved ? transaction.amountMinor : null,',
    meaning: 'a partial approval is reported and refunded as the whole amount',
    hunt: { by: 'histories', count: 50_000 },
  },
  {
    name: 'a repeated tap is a new one',
    file: 'src/payments/taps/taps.ts',
    before: '  if (!reachedNoSwitch(before)) throw usedReference(principal, draft.transaction, before);\n',
    after: '',
    meaning: 'only the store refuses a new attempt of a tap that reached a switch: another device gets 409, not 403',
    hunt: { by: 'test', file: 'test/flow/repeats.test.ts' },
  },
  {
    name: 'an uncertain refund may be sent again',
    file: 'src/payments/taps/submissions.ts',
    before: "  if (response.kind === 'failed' && !response.written) {\n      const next",
    after: "  if (response.kind === 'failed') {\n      const next",
    meaning: 'a written request without a response is also sent to the next processor',
    hunt: { by: 'histories', count: 50_000 },
  },
];
