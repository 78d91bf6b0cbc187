import { StartError } from '../basics/errors.ts';
import type { SampleCardName } from '../card/sample-tap.ts';
import { scenarioOf } from '../tools/simulator/scenarios.ts';

/** What happens to an approved sale after the tap. */
export type AfterSale = 'void' | 'refund';

/** A payment that simulated switches answer in one particular way. */
export interface TriggerCase {
  /** Decimal text; the simulated switches select their behaviour by it (src/tools/simulator/scenarios.ts). */
  readonly amount: string;
  readonly pin?: string;
  readonly card?: SampleCardName;
  readonly afterwards?: AfterSale;
  /** The disposition of the tap. */
  readonly expected: 'Approved' | 'Declined' | 'Indeterminate';
  readonly description: string;
  /** What the integrator receives, in order. */
  readonly events: readonly string[];
}

const APPROVED = 'transaction.completed Approved';
const DECLINED = 'transaction.completed Declined';
const UNKNOWN = ['transaction.completed Indeterminate', 'transaction.voided Voided, once the reversal is acknowledged'];
/** The PIN that simulated switches accept, and one that they do not. */
const [RIGHT_PIN, WRONG_PIN] = ['12345', '54321'];

export const TRIGGER_CASES: Readonly<Record<string, TriggerCase>> = {
  approved: { amount: '10.00', expected: 'Approved', description: 'the switch approves', events: [APPROVED] },
  declined: {
    amount: '10.51',
    expected: 'Declined',
    description: 'the switch declines with code 51, or that of --code',
    events: [DECLINED],
  },
  pin: {
    amount: '50.05',
    pin: RIGHT_PIN,
    expected: 'Approved',
    description: 'the switch requests a PIN and approves with it',
    events: [APPROVED],
  },
  'wrong-pin': {
    amount: '50.05',
    pin: WRONG_PIN,
    // The switch blocks a card after three wrong PINs; the other cases use another card.
    card: 'amex',
    expected: 'Declined',
    description: 'the switch requests a PIN and refuses the one entered',
    events: [DECLINED],
  },
  duplicate: {
    amount: '10.99',
    expected: 'Approved',
    description: 'the switch approves and responds twice',
    events: [APPROVED],
  },
  timeout: {
    amount: '10.69',
    expected: 'Indeterminate',
    description: 'the switch does not respond, and the sale is reversed',
    events: UNKNOWN,
  },
  late: {
    amount: '10.68',
    expected: 'Indeterminate',
    description: 'the switch responds after the deadline, and the sale is reversed',
    events: UNKNOWN,
  },
  disconnect: {
    amount: '10.98',
    expected: 'Indeterminate',
    description: 'the switch drops the connection in the middle of its response',
    events: UNKNOWN,
  },
  void: {
    amount: '10.00',
    afterwards: 'void',
    expected: 'Approved',
    description: 'an approved sale is voided',
    events: [APPROVED, 'transaction.voided Voided'],
  },
  refund: {
    amount: '10.00',
    afterwards: 'refund',
    expected: 'Approved',
    description: 'a part of an approved sale is refunded',
    events: [APPROVED, 'refund.completed Approved'],
  },
};

/** The declined case with another response code of the switch. @throws StartError BAD_CONFIG */
export function declinedWith(code: string): TriggerCase {
  const amount = `10.${code}`;
  const scenario = /^\d\d$/.test(code) ? scenarioOf(Number(amount.replace('.', ''))) : undefined;
  if (scenario?.kind === 'answer' && scenario.responseCode !== '00') return { ...TRIGGER_CASES.declined!, amount };
  throw new StartError(
    'BAD_CONFIG',
    `--code ${code}: expected a two-digit response code that the simulated switches answer, such as 05, 51 or 54`,
  );
}
