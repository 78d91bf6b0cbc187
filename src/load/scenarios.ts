/** What clients do in a load test, by name. The simulated switches answer by amount (processors/README.md). */

import { afterwardsCall } from './clients/afterwards-calls.ts';
import type { ClientCall } from './clients/client-call.ts';
import { linkCall } from './clients/link-calls.ts';
import { detailCall, listCall } from './clients/status-calls.ts';
import type { Clients } from './clients/tap-calls.ts';
import { CARD_NAMES, type LoadTap, tapCall } from './clients/tap-calls.ts';

export interface Scenario {
  readonly description: string;
  /** @param number counts the calls of the test, for variety that repeats */
  readonly call: (clients: Clients, name: string, number: number) => ClientCall;
}

const TEN = 10_00;
/** 10.00 to 409.00: below the whole amounts that mean an outage or a wait. */
const WHOLE_AMOUNTS = 400;
/** The simulated cards' PIN, and an amount at which the simulated issuers ask for it. */
const TEST_PIN = '12345';
const PIN_AMOUNT = 50_05;
const PIN_CARDS = ['visa', 'mastercard'] as const;
/** Codes that issuers decline with most: do not honour, no such card, lost, stolen, no money, expired, not permitted, limits. */
export const DECLINE_CODES = ['05', '14', '41', '43', '51', '54', '57', '61', '62'] as const;

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
    description: 'a tap that asks for the PIN, and the PIN',
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
  void: {
    description: 'a tap that is voided when it was approved',
    call: (clients, scenario, number) => afterwardsCall(clients, approving(clients, scenario, number), 'void'),
  },
  refund: {
    description: 'a tap that is refunded in part, twice, when it was approved',
    call: (clients, scenario, number) => afterwardsCall(clients, approving(clients, scenario, number), 'refund'),
  },
  timeout: {
    description: 'a tap that the switch never answers',
    call: (clients, scenario) => uncertain(clients, scenario, 69),
  },
  late: {
    description: 'a tap that the switch approves after its deadline',
    call: (clients, scenario) => uncertain(clients, scenario, 68),
  },
  link: {
    description: 'a link that is made, tapped and looked up',
    call: (clients, scenario, number) => linkCall(clients, approving(clients, scenario, number)),
  },
  status: {
    description: 'a look at the latest transaction of a phone',
    call: (clients, scenario) => detailCall(clients, scenario),
  },
  list: {
    description: "a page of a merchant's transactions",
    call: (clients, scenario) => listCall(clients, scenario),
  },
};

/** `decline-51`: with one code alone. Codes that make the simulated switches do something else are none. */
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

/** On a terminal that does not wait long, and with a card that leads to its line. */
function uncertain(clients: Clients, scenario: string, cents: number): ClientCall {
  const phone = clients.fleet.nextHasty();
  return tapCall(clients, { scenario, phone, card: 'visa', amountMinor: TEN + cents, expects: 'Indeterminate' });
}

function cardOf(number: number) {
  return CARD_NAMES[number % CARD_NAMES.length]!;
}
