import type { CardProfile } from './chip-card.ts';

/** The keys of Visa's and Mastercard's public test cards (ADVT, M-TIP), as tools for such cards list them. */
const VISA_KEY = '2315208C9110AD402315208C9110AD40';
const MASTERCARD_KEY = '9E15204313F7318ACB79B90BD986AD29';
/** The key of examples in documents. */
const EXAMPLE_KEY = '0123456789ABCDEFFEDCBA9876543210';

/** Chip cards for `tapwire simulate --issuer test` and `tapwire tap --card`: published test PANs, published test keys. */
export const TEST_CARDS: readonly CardProfile[] = [
  { name: 'visa-10', pan: '4761739001010010', sequence: '01', version: 'visa-10', issuerKey: VISA_KEY },
  { name: 'visa-18', pan: '4012888888881881', sequence: '00', version: 'visa-18', issuerKey: VISA_KEY },
  {
    name: 'mastercard-16',
    pan: '5413339000006165',
    sequence: '00',
    version: 'mastercard-16',
    issuerKey: MASTERCARD_KEY,
  },
  {
    name: 'mastercard-17',
    pan: '5555555555554444',
    sequence: '01',
    version: 'mastercard-17',
    issuerKey: MASTERCARD_KEY,
  },
  { name: 'amex-1', pan: '378282246310005', sequence: '00', version: 'amex-1', issuerKey: EXAMPLE_KEY },
];
