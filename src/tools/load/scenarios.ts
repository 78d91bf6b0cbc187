import { readFileSync, statSync } from 'node:fs';
import { type LoadMix, loadMix } from '#schemas/load';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { LoadError } from '../../basics/errors.ts';
import type { Random } from '../simulator/faults.ts';
import type { ClientCall } from './clients/fleet.ts';
import {
  afterwardsCall,
  CARD_NAMES,
  type Clients,
  detailCall,
  type LoadTap,
  linkCall,
  listCall,
  tapCall,
} from './clients/tap-calls.ts';

/**
 * The actions of clients in a load test, by name. The amount selects the response of the simulated switches
 * (processors/README.md).
 */

export interface Scenario {
  readonly description: string;
  /** @param number counts the calls of the test, for reproducible variety */
  readonly call: (clients: Clients, name: string, number: number) => ClientCall;
}

const TEN = 10_00;
/** 10.00 to 409.00: below the whole amounts that cause an outage or a delay. */
const WHOLE_AMOUNTS = 400;
/** The simulated cards' PIN, and an amount at which the simulated issuers require it. */
const TEST_PIN = '12345';
const PIN_AMOUNT = 50_05;
const PIN_CARDS = ['visa', 'mastercard'] as const;
/**
 * The most frequent codes with which issuers decline: do not honour, no such card, lost, stolen, no money, expired, not
 * permitted, limits.
 */
const DECLINE_CODES = ['05', '14', '41', '43', '51', '54', '57', '61', '62'] as const;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  approve: {
    description: 'a tap that the switch approves',
    call: (clients, scenario, number) => tapCall(clients, approving(clients, scenario, number)),
  },
  decline: {
    description: `a tap that the switch declines, with each of ${DECLINE_CODES.join(' ')} in turn`,
    call: (clients, scenario, number) =>
      declined(clients, scenario, number, DECLINE_CODES[number % DECLINE_CODES.length]!),
  },
  pin: {
    description: 'a tap that requires the PIN, and the PIN',
    call: (clients, scenario, number) =>
      tapCall(clients, {
        scenario,
        phone: clients.fleet.next(),
        card: PIN_CARDS[number % PIN_CARDS.length]!,
        amountMinor: PIN_AMOUNT,
        expects: 'Approved',
        pin: TEST_PIN,
      }),
  },
  'entered-pin': {
    description: 'a tap with a PIN that was entered at the reader before',
    call: (clients, scenario, number) =>
      tapCall(clients, { ...approving(clients, scenario, number), enteredPin: TEST_PIN }),
  },
  void: {
    description: 'a tap that is voided after its approval',
    call: (clients, scenario, number) => afterwardsCall(clients, approving(clients, scenario, number), 'void'),
  },
  refund: {
    description: 'a tap that is refunded in two parts after its approval',
    call: (clients, scenario, number) => afterwardsCall(clients, approving(clients, scenario, number), 'refund'),
  },
  timeout: {
    description: 'a tap to which the switch never responds',
    call: (clients, scenario) => uncertain(clients, scenario, 69),
  },
  late: {
    description: 'a tap that the switch approves after its deadline',
    call: (clients, scenario) => uncertain(clients, scenario, 68),
  },
  link: {
    description: 'a link that is created, tapped and looked up',
    call: (clients, scenario, number) => linkCall(clients, approving(clients, scenario, number)),
  },
  status: {
    description: 'a lookup of the latest transaction of a phone',
    call: (clients, scenario) => detailCall(clients, scenario),
  },
  list: {
    description: "a page of a merchant's transactions",
    call: (clients, scenario) => listCall(clients, scenario),
  },
};

/** `decline-51`: declines with one code only. Codes that make the simulated switches do something else are excluded. */
const DECLINE_WITH = /^decline-(?!00|10|65|68|69|8[5-9]|9[7-9])(\d\d)$/;

export const SCENARIO_NAMES: readonly string[] = [...Object.keys(SCENARIOS), 'decline-NN'];

export function findScenario(name: string): Scenario | undefined {
  if (Object.hasOwn(SCENARIOS, name)) return SCENARIOS[name];
  const code = DECLINE_WITH.exec(name)?.[1];
  if (code === undefined) return undefined;
  return {
    description: `a tap that the switch declines with ${code}`,
    call: (clients, scenario, number) => declined(clients, scenario, number, code),
  };
}

function approving(clients: Clients, scenario: string, number: number): LoadTap {
  const amountMinor = TEN + (number % WHOLE_AMOUNTS) * 100;
  return { scenario, phone: clients.fleet.next(), card: cardOf(number), amountMinor, expects: 'Approved' };
}

function declined(clients: Clients, scenario: string, number: number, code: string): ClientCall {
  return tapCall(clients, {
    scenario,
    phone: clients.fleet.next(),
    card: cardOf(number),
    amountMinor: TEN + Number(code),
    expects: 'Declined',
  });
}

/** Taps on a terminal whose switch has a short deadline, with a card that is routed to that switch. */
function uncertain(clients: Clients, scenario: string, cents: number): ClientCall {
  const phone = clients.fleet.nextWithShortDeadline();
  return tapCall(clients, { scenario, phone, card: 'visa', amountMinor: TEN + cents, expects: 'Indeterminate' });
}

function cardOf(number: number) {
  return CARD_NAMES[number % CARD_NAMES.length]!;
}

/** The mix of a busy day. */
const DEFAULT_MIX: LoadMix = { approve: 80, decline: 8, pin: 3, timeout: 0.1, status: 6, list: 2.9 };
const LINK_WEIGHT = 2;

/** The default mix: with links only if there is an API key to create them with. */
export function defaultMix({ apiKey }: { readonly apiKey?: string | undefined }): LoadMix {
  return apiKey === undefined ? DEFAULT_MIX : { ...DEFAULT_MIX, link: LINK_WEIGHT };
}

/** A page of text; a mix has a few lines. */
const MAX_FILE_BYTES = 64 * 1024;

/**
 * Reads a file of scenarios with weights.
 *
 * @throws LoadError BAD_FILE naming what is wrong
 */
export function readMix(path: string): LoadMix {
  const fault = (why: string) => new LoadError('BAD_FILE', `--mix ${path}: ${why}`);
  let value: unknown;
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw fault(describeSystemError(cause));
  }
  const checked = loadMix.safeParse(value);
  if (!checked.success) {
    const { path: where, message } = checked.error.issues[0]!;
    throw fault(`${where.length > 0 ? `${where.join('.')}: ` : ''}${message}; expected {"approve": 90, "decline": 10}`);
  }
  const unknown = Object.keys(checked.data).find((name) => findScenario(name) === undefined);
  if (unknown !== undefined) throw fault(`unknown scenario ${unknown}; known are ${SCENARIO_NAMES.join(', ')}`);
  return checked.data;
}

/** Draws the names of scenarios at random, in proportion to their weights. */
export function mixDraw(mix: LoadMix, random: Random): () => string {
  const entries = Object.entries(mix).filter(([, weight]) => weight > 0);
  const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
  return () => {
    let left = random.next() * total;
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  };
}
