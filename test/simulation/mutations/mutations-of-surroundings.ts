import type { Mutation } from './mutation.ts';

/** Code around the decisions: numbers, connections, cards, clocks. A separate test finds each mutation. */
export const MUTATIONS_OF_SURROUNDINGS: readonly Mutation[] = [
  {
    name: 'cards are erased under reversals',
    file: 'src/store/transactions/purge.ts',
    before: `(t.reversal_state not in (\${RUNNING_REVERSAL_STATES.join()})`,
    after: '(t.reversal_state is not null',
    meaning: 'the purge takes the card data that an open reversal repeats',
    hunt: { by: 'test', file: 'test/store/transactions/purge.test.ts' },
  },
  {
    name: 'an idle processor holds the date',
    file: 'src/store/switches/business-dates.ts',
    before: 'other >= oldest && other < one ? other : one',
    after: 'other < one ? other : one',
    meaning: 'the STANs of an acquirer run out because of a processor that stopped announcing its date',
    hunt: { by: 'test', file: 'test/store/switches/business-dates.test.ts' },
  },
  {
    name: 'no STAN is kept for reversals',
    file: 'src/switches/switch-stans.ts',
    before: "use === 'followUp' ? 0 : RESERVED",
    after: "use === 'followUp' ? 0 : 0",
    meaning: 'taps use up the numbers that reversals with a new STAN need',
    hunt: { by: 'test', file: 'test/flow/stans-run-out.test.ts' },
  },
  {
    name: 'every tap is a purchase',
    file: 'src/transactions/tap/find-unsupported.ts',
    before: "  if (kind !== PURCHASE) return inGeneral('TRANSACTION_TYPE_UNSUPPORTED');\n",
    after: '',
    meaning: 'a refund in the reader’s data (9C 20) is sent as a purchase',
    hunt: { by: 'test', file: 'test/transactions/tap/find-unsupported.test.ts' },
  },
  {
    name: 'a silent connection keeps its taps',
    file: 'src/connection/suspicion.ts',
    before: '  return monotonicMs >= silentAtMs(connection, timeouts) || isAvoided(connection, monotonicMs, timeouts);',
    after:
      '  return monotonicMs < 0 && (monotonicMs >= silentAtMs(connection, timeouts) || isAvoided(connection, monotonicMs, timeouts));',
    meaning: 'taps use a silent connection although others work',
    hunt: { by: 'test', file: 'test/connection/suspicion.test.ts' },
  },
  {
    name: 'an HSM has no time limit',
    file: 'src/switches/pin-translator.ts',
    before: 'const LIMIT_MS = 3_000;',
    after: 'const LIMIT_MS = 3_000_000;',
    meaning: 'a PIN translation that hangs blocks its tap permanently',
    hunt: { by: 'test', file: 'test/flow/hsm-silent.test.ts' },
  },
  {
    name: '70 declines for all',
    file: 'src/processor-kit/response-codes.ts',
    before: "'66', '67', '75', '90'],",
    after: "'66', '67', '70', '75', '90'],",
    meaning: 'a code that Mastercard does not use is a decline, and not reversed',
    hunt: { by: 'test', file: 'test/processors/conformance.test.ts' },
  },
  {
    name: 'an unusable approval has no code',
    file: 'src/transactions/decisions/decide-outcome.ts',
    before: 'unusableAuthorizationCode: response?.authorizationCode ?? null,',
    after: 'unusableAuthorizationCode: null,',
    meaning: 'the reversal of an approval that could not be used lacks its DE38',
    hunt: { by: 'test', file: 'test/transactions/decisions/decide-outcome.test.ts' },
  },
];
