import { randomUUID } from 'node:crypto';
import { createClient, NoResponseError, ProblemError } from '#schemas/client';
import type { RefundResponse } from '#schemas/refund';
import { StartError } from '../basics/errors.ts';
import type { SampleCardName } from '../card/sample-tap.ts';
import { whyNotForTests } from '../tools/load/machine-watch.ts';
import { authorizationOf, Phone, type PhoneResponse } from '../tools/phone/phone.ts';
import { type Profile, readProfileOrDemo } from '../tools/phone/profile.ts';
import { scenarioOf } from '../tools/simulator/scenarios.ts';
import { flag, readWords, text } from './arguments.ts';
import { SHORT_DEADLINE_TERMINAL } from './demo/demo-installation.ts';
import { bad, good } from './output.ts';
import { describe } from './tap.ts';

/** What happens to an approved sale after the tap. */
export type AfterSale = 'void' | 'refund';

/** A payment to which simulated switches respond in one particular way. */
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
  if (scenario?.kind === 'response' && scenario.responseCode !== '00') return { ...TRIGGER_CASES.declined!, amount };
  throw new StartError(
    'BAD_CONFIG',
    `--code ${code}: expected a two-digit response code with which the simulated switches respond, such as 05, 51 or 54`,
  );
}

const WIDTH = Math.max(...Object.keys(TRIGGER_CASES).map(({ length }) => length));

export const USAGE = `usage: tapwire trigger CASE [--code NN] [--terminal X-TID] [--profile FILE] [--json]

${Object.entries(TRIGGER_CASES)
  .map(([name, { description }]) => `  ${name.padEnd(WIDTH)}  ${description}`)
  .join('\n')}

  --code      another response code for declined, such as 54
  --terminal  the terminal of the tap; default: that of the profile; if the switch is silent, one of the demo with a deadline of 2 s
  --profile   the merchant (tapwire profile); default: that of npm start

Submits a payment to simulated switches and names the webhooks that follow. To see them arrive, run tapwire webhooks
listen in another terminal.`;

const CURRENCY = 'ZAR';
const REFUND_AMOUNT = '4.00';

/**
 * `tapwire trigger CASE`: produces an outcome for integrators who develop a receiver of webhooks. Exit code 0 when the
 * outcome is that of the case, 3 for another one, 1 for a refusal.
 */
export async function run(args: string[]): Promise<number> {
  const options = { code: text, terminal: text, profile: text, json: flag } as const;
  const { values, words } = readWords(args, options);
  const wanted = caseOf(words, values.code);
  const profile = terminalOf(readProfileOrDemo(values.profile), wanted, values);
  await refuseProd(profile);
  const response = await new Phone(profile).tap({ ...wanted, currency: CURRENCY });
  const { type, serviceReference = '' } = authorizationOf(response) ?? {};
  const isExpected = type === wanted.expected;
  const after =
    isExpected && wanted.afterwards ? await finish(profile, serviceReference, wanted.afterwards) : undefined;
  if (values.json) console.log(JSON.stringify({ tap: response.body, after, events: wanted.events }));
  else print(response, wanted, { isExpected, after });
  if (type === undefined) return 1;
  return isExpected ? 0 : 3;
}

function caseOf([name, ...others]: readonly string[], code: string | undefined): TriggerCase {
  const known = name !== undefined && Object.hasOwn(TRIGGER_CASES, name) ? TRIGGER_CASES[name] : undefined;
  if (name === undefined || others.length > 0) throw new StartError('BAD_USAGE', USAGE);
  if (known === undefined) {
    const names = Object.keys(TRIGGER_CASES).join(', ');
    throw new StartError('BAD_USAGE', `tapwire trigger: there is no case ${name}. Expected one of ${names}.`);
  }
  if (code === undefined) return known;
  if (name !== 'declined') throw new StartError('BAD_USAGE', '--code: only declined has a response code to choose');
  return declinedWith(code);
}

/** The demo has a terminal with a deadline of two seconds, for switches that do not respond. */
function terminalOf(
  profile: Profile,
  { expected }: TriggerCase,
  given: { readonly terminal?: string | undefined; readonly profile?: string | undefined },
): Profile {
  const isOfDemo = given.profile === undefined && profile.operator !== undefined;
  const ofSilentSwitch = isOfDemo && expected === 'Indeterminate' ? SHORT_DEADLINE_TERMINAL : undefined;
  return {
    ...profile,
    merchant: { ...profile.merchant, xTid: given.terminal ?? ofSilentSwitch ?? profile.merchant.xTid },
  };
}

/** A test card must not reach a switch with real money. */
async function refuseProd({ url }: Profile): Promise<void> {
  const reason = await whyNotForTests(url);
  if (reason !== undefined) throw new StartError('BAD_CONFIG', `${reason}. Payments are triggered only in dev and qa.`);
}

/** Voids or refunds the sale with the API key of the profile. @returns the response of the gateway */
async function finish({ url, apiKey }: Profile, id: string, what: AfterSale): Promise<object> {
  const client = createClient({ baseUrl: url, credentials: { apiKey }, repeats: 0 });
  const body = { amount: REFUND_AMOUNT, refundReference: `refund-${randomUUID()}` };
  try {
    if (what === 'void') return await client.voidSale({ params: { id } });
    return await client.refundSale({ params: { id }, body });
  } catch (cause) {
    if (cause instanceof NoResponseError) throw new StartError('BAD_CONFIG', `No response from ${url}.`, { cause });
    if (!(cause instanceof ProblemError)) throw cause;
    throw new StartError('BAD_CONFIG', `The ${what} is refused: ${cause.problem.detail}`, { cause });
  }
}

function print(
  response: PhoneResponse,
  { expected, events, afterwards }: TriggerCase,
  { isExpected, after }: { readonly isExpected: boolean; readonly after: object | undefined },
): void {
  console.log(describe(response, { isPinGiven: true }));
  if (authorizationOf(response) === undefined) return;
  if (!isExpected) {
    console.log(`${bad('unexpected')}  expected ${expected}; only simulated switches respond by the amount`);
    return;
  }
  if (after) console.log(`${good(afterwards === 'void' ? 'void accepted' : `refund ${refundOf(after)}`)}`);
  console.log(`webhooks  ${events.join('\n          ')}`);
}

function refundOf(response: object): string {
  const { type, amount, currency } = response as RefundResponse;
  return `${type}  ${currency} ${amount}`;
}
