import type { Mutation } from './mutation.ts';

const SALE = { by: 'exploration', cases: ['sale'], depth: 4 } as const;

/** Decisions after responses, silence and requests. */
export const MUTATIONS_OF_DECISIONS: readonly Mutation[] = [
  {
    name: 'silence is no submission',
    file: 'src/transactions/tap/authorize.ts',
    before: "return { kind: answer.written ? 'unanswered' : 'unsent' };",
    after: "return { kind: 'unsent' };",
    meaning: 'what was written and not answered is told as never sent, and not reversed',
    hunt: SALE,
  },
  {
    name: 'a crash is no submission',
    file: 'src/transactions/reversal/overdue.ts',
    before: "kind: wasSubmitted ? 'unanswered' : 'unsent'",
    after: "kind: wasSubmitted ? 'unsent' : 'unsent'",
    meaning: 'what a process had sent when it died is told as never sent, and not reversed',
    hunt: SALE,
  },
  {
    name: 'garbled is unsent',
    file: 'src/transactions/decisions/decide-outcome.ts',
    before:
      "    case 'garbled':\n      return indeterminate(transaction, Status.BadResponseFromPaymentProcessor, null, nowMs);",
    after: "    case 'garbled':\n      return unableToGoOnline(transaction, nowMs);",
    meaning: 'a response that cannot be read is told as never sent, and what it approved is not reversed',
    hunt: { by: 'histories', count: 50_000 },
  },
  {
    name: 'unknown is declined',
    file: 'src/transactions/decisions/decide-outcome.ts',
    before: "  if (outcome.kind === 'unknown') {",
    after: "  if (outcome.responseCode === 'never') {",
    meaning: 'a code in no table is a decline, and what was booked is not reversed',
    hunt: SALE,
  },
  {
    name: 'every echo will do',
    file: 'src/processor-kit/define-processor.ts',
    before: '    if (response[field] !== request[field]) return',
    after: "    if (response[field] === 'never') return",
    meaning: 'a response for another amount or another card approves',
    hunt: { by: 'test', file: 'test/processors/conformance.test.ts' },
  },
  {
    name: 'the amount asked is approved',
    file: 'src/transactions/decisions/decide-outcome.ts',
    before: '    approvedMinor: isApproved ? outcome.approvedMinor : null,',
    after: '    approvedMinor: isApproved ? transaction.amountMinor : null,',
    meaning: 'an approval of a part is told and refunded as the whole',
    hunt: { by: 'histories', count: 50_000 },
  },
  {
    name: 'a repeated tap is a new one',
    file: 'src/transactions/tap/submit-tap.ts',
    before: '  if (!reachedNoSwitch(before)) throw usedReference(principal, draft.transaction, before);\n',
    after: '',
    meaning: 'only the store refuses a new attempt of what reached a switch: another device hears 409, and not 403',
    hunt: { by: 'test', file: 'test/flow/repeats.test.ts' },
  },
  {
    name: 'an uncertain refund may be sent again',
    file: 'src/transactions/tap/authorize.ts',
    before: "  if (answer.kind === 'failed' && !answer.written) {\n    const next",
    after: "  if (answer.kind === 'failed') {\n    const next",
    meaning: 'what was written and not answered goes to the next processor as well',
    hunt: { by: 'histories', count: 50_000 },
  },
];
