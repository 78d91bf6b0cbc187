import { openLink } from '../../../src/payments/links/link-lifecycle.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Principal } from '../../../src/payments/ports/directory-ports.ts';
import type { TapRequest } from '../../../src/payments/ports/switch-ports.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import type { Case, ClientAction } from '../explore/cases.ts';
import type { Execution } from '../explore/execution.ts';
import { booksOf } from '../explore/replay.ts';
import { isInReview } from '../rules/rules-of-money.ts';
import { OTHER_ACQUIRER, OTHER_MERCHANT, PRINCIPAL, simulatedLink } from '../simulated-tenant.ts';
import { BEHAVIOURS, type Behaviour } from './behaviours.ts';

const WHOLE = '10.00';
const LINK = 'link';

function tapOf(deviceInstallationId: string, merchantReference = 'order', paymentCardData = 'tap'): TapRequest {
  return { merchantReference, deviceInstallationId, paymentCardData } as TapRequest;
}

function submit(name: string, principal: Principal, request: TapRequest): ClientAction {
  return {
    name,
    isPossible: () => true,
    ask: (execution, process) =>
      execution.begin(name, process, async (deps, task, within) =>
        within.respondToClient(deps, task, await createUseCases(deps).taps.submit(principal, request)),
      ),
  };
}

/** A customer opens the link and pays with another phone than the other one. */
function payLink(name: string, isPossible: ClientAction['isPossible'] = () => true): ClientAction {
  const claims = { ...PRINCIPAL, id: LINK };
  return {
    name,
    isPossible,
    ask: (execution, process) =>
      execution.begin(name, process, async (deps, task, within) => {
        const { merchantReference } = await openLink(deps.links, claims, LINK);
        const principal = { ...PRINCIPAL, consumerId: LINK };
        within.respondToClient(
          deps,
          task,
          await createUseCases(deps).taps.submit(principal, tapOf(name, merchantReference, name)),
        );
      }),
  };
}

/** The sale of a till. */
function saleAt(execution: Execution, { acquirerId, merchantId }: Principal): Transaction | undefined {
  return salesOf(execution).find((each) => each.acquirerId === acquirerId && each.merchantId === merchantId);
}

function salesOf({ store }: Execution): Transaction[] {
  const transactions = [...store.rows.values()].map(({ transaction }) => transaction);
  return transactions.filter(({ type }) => type === TransactionType.Tap);
}

function giveBack(name: string, till: Principal, reference: string, after?: ClientAction): ClientAction {
  return {
    name,
    isPossible: (execution) =>
      saleAt(execution, till)?.disposition === Disposition.Approved &&
      (after === undefined || execution.clientsDone.has(after.name)),
    ask: (execution, process) => askRefund(execution, process, saleAt(execution, till)!, reference),
  };
}

function takeBack(name: string, till: Principal): ClientAction {
  return {
    name,
    isPossible: (execution) => saleAt(execution, till)?.disposition === Disposition.Approved,
    ask: (execution, process) => askVoid(execution, process, saleAt(execution, till)!),
  };
}

type Process = Parameters<ClientAction['ask']>[1];

function askRefund(execution: Execution, process: Process, { acquirerId, id }: Transaction, reference: string): void {
  execution.begin(reference, process, async (deps, task, within) => {
    const sale = await deps.store.find({ acquirerId, id });
    if (!sale) return;
    within.respondToClient(
      deps,
      task,
      await createUseCases(deps).refunds.refund(sale, { amount: WHOLE, refundReference: reference }),
    );
  });
}

function askVoid(execution: Execution, process: Process, { acquirerId, id }: Transaction): void {
  execution.begin('void', process, async (deps) => {
    const sale = await deps.store.find({ acquirerId, id });
    if (sale) await createUseCases(deps).voids.start(sale);
  });
}

/** A request with which a client could use what the gateway has shown, when everything rests. */
export interface Closing {
  readonly name: string;
  readonly ask: (execution: Execution, process: Process) => void;
  /** What was accepted although the transaction that it is about needs review. */
  readonly faults: (before: Execution, after: Execution) => string[];
}

export function closingsOf(execution: Execution): Closing[] {
  const closings = salesOf(execution).flatMap((sale): Closing[] => {
    const { id, acquirerId, merchantId, merchantReference, deviceInstallationId, consumerId, disposition } = sale;
    const principal = [PRINCIPAL, OTHER_MERCHANT, OTHER_ACQUIRER].find(
      (each) => each.acquirerId === acquirerId && each.merchantId === merchantId,
    )!;
    const again = tapOf(deviceInstallationId, merchantReference, 'another tap');
    const faults = (before: Execution, after: Execution) => faultsOfUse(before, after, sale);
    const retry = submit(`retry ${id}`, principal, again).ask;
    const isApproved = disposition === Disposition.Approved;
    return [
      ...(isApproved
        ? [
            {
              name: `a refund of ${id}`,
              faults,
              ask: (within: Execution, process: Process) => askRefund(within, process, sale, `refund of ${id}`),
            },
            {
              name: `a void of ${id}`,
              faults,
              ask: (within: Execution, process: Process) => askVoid(within, process, sale),
            },
          ]
        : []),
      ...(consumerId === null ? [{ name: `another tap for the order of ${id}`, faults, ask: retry }] : []),
    ];
  });
  const linked = salesOf(execution).find(({ consumerId }) => consumerId !== null);
  if (!linked) return closings;
  const faults = (before: Execution, after: Execution) => faultsOfUse(before, after, linked);
  return [...closings, { name: 'another phone pays the link', faults, ask: payLink('last phone').ask }];
}

/** Whether a sale is used once more while it, or a refund or void of it, needs review. */
function faultsOfUse(before: Execution, after: Execution, sale: Transaction): string[] {
  const isNews = ({ id, attempt }: Transaction) => before.store.rows.get(id)?.transaction.attempt !== attempt;
  const books = booksOf(before);
  const family = [...before.store.rows.values()].map(({ transaction }) => transaction);
  const doubtful = family.filter((each) => {
    const isOfLink = sale.consumerId !== null && each.consumerId === sale.consumerId;
    return (each.id === sale.id || each.originalId === sale.id || isOfLink) && isInReview(books, each);
  });
  if (doubtful.length === 0) return [];
  const news = [...after.store.rows.values()].map(({ transaction }) => transaction).filter(isNews);
  const used = news.filter(({ disposition }) => disposition !== Disposition.UnableToGoOnline);
  return used.map(({ id }) => `${id} was accepted while ${doubtful.map((each) => each.id).join()} is in review`);
}

const NO_CODES = { request: [], reversal: [] };
const TILL = submit('a card is tapped at the till', PRINCIPAL, tapOf('device'));
const OTHER_TILL = submit('a card is tapped at the other till', OTHER_MERCHANT, tapOf('other device'));
const FOREIGN_TILL = submit('a card is tapped at the till of the other acquirer', OTHER_ACQUIRER, tapOf('device'));
const FIRST_REFUND = giveBack('a refund is asked for', PRINCIPAL, 'refund');
const SECOND_REFUND = giveBack('a second refund is asked for', PRINCIPAL, 'second refund', FIRST_REFUND);
const VOID = takeBack('the sale is voided', PRINCIPAL);
const FIRST_PHONE = payLink('a phone pays the link');
const isStarted = ({ clientsDone }: Execution) => clientsDone.has(FIRST_PHONE.name);
const SECOND_PHONE = payLink('a second phone pays the link', isStarted);
const PAID = [`client: ${TILL.name}`, 'request 1 arrives, and its response'];

type Scene = Pick<Case, 'setUp' | 'clients' | 'prepare'>;

/** Few requests each, with equal cards, amounts and references. */
const SCENES: Readonly<Record<string, Scene>> = {
  'one sale': { setUp: [], clients: [{ action: TILL, at: 'A' }] },
  'two tills': {
    setUp: [],
    clients: [
      { action: TILL, at: 'A' },
      { action: OTHER_TILL, at: 'A' },
      { action: giveBack('a refund is asked for at the other till', OTHER_MERCHANT, 'refund'), at: 'B' },
      { action: VOID, at: 'B' },
    ],
  },
  'two acquirers': {
    setUp: [],
    clients: [
      { action: TILL, at: 'A' },
      { action: FOREIGN_TILL, at: 'A' },
      { action: VOID, at: 'B' },
    ],
  },
  'refunds and a void': {
    setUp: PAID,
    clients: [
      { action: TILL, at: 'A' },
      { action: FIRST_REFUND, at: 'A' },
      { action: SECOND_REFUND, at: 'B' },
      { action: VOID, at: 'B' },
    ],
  },
  'a link': {
    setUp: [],
    clients: [
      { action: FIRST_PHONE, at: 'A' },
      { action: SECOND_PHONE, at: 'B' },
    ],
    prepare: ({ links, time }) => links.create(simulatedLink(LINK, time.nowMs)),
  },
};

/** Every scene at every switch. */
export const HONEST_CASES: readonly Case[] = Object.entries(SCENES).flatMap(([name, scene]) =>
  Object.values(BEHAVIOURS).map((behaviour: Behaviour) => ({
    ...scene,
    name: `${name}, ${behaviour.name}`,
    codes: NO_CODES,
    behaviour,
  })),
);
