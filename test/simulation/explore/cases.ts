import { isAwaitingPin } from '../../../src/payments/model/pin.ts';
import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { TapRequest } from '../../../src/payments/ports/switch-ports.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import type { Behaviour } from '../honest/behaviours.ts';
import { PRINCIPAL } from '../simulated-tenant.ts';
import { type Execution, VOID } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';

/** An action of a client, performed once. */
export interface ClientAction {
  readonly name: string;
  readonly isPossible: (execution: Execution) => boolean;
  readonly ask: (execution: Execution, process: ExploredProcess) => void;
}

/** A small installation with a few requests: everything else that may happen in it is explored. */
export interface Case {
  readonly name: string;
  /** The events before, without faults. */
  readonly setUp: readonly string[];
  readonly clients: readonly { readonly action: ClientAction; readonly at: 'A' | 'B' }[];
  /** Codes with which the switch responds to purchases and refunds, and reversals. */
  readonly codes: { readonly request: readonly string[]; readonly reversal: readonly string[] };
  /** The rules of an honest switch: then it determines its responses itself, and `codes` are not used. */
  readonly behaviour?: Behaviour;
  readonly prepare?: (execution: Execution) => void;
}

const TAP = { merchantReference: 'order', deviceInstallationId: 'device', paymentCardData: 'tap' } as TapRequest;

const submit: ClientAction = {
  name: 'the phone submits a tap',
  isPossible: () => true,
  ask: (execution, process) =>
    execution.begin('sale', process, async (deps, task, within) =>
      within.respondToClient(deps, task, await createUseCases(deps).taps.submit(PRINCIPAL, TAP)),
    ),
};

const submitAgain: ClientAction = {
  name: 'the phone submits the tap again',
  isPossible: (execution) => execution.clientsDone.has(submit.name),
  ask: (execution, process) =>
    execution.begin('sale again', process, async (deps, task, within) =>
      within.respondToClient(deps, task, await createUseCases(deps).taps.submit(PRINCIPAL, TAP)),
    ),
};

const enterPin: ClientAction = {
  name: 'the phone submits the PIN',
  isPossible: (execution) => execution.reported.some(({ disposition }) => disposition === null),
  ask: (execution, process) => {
    const { id } = saleOf(execution)!;
    const pin = { ...TAP, pinToken: 'token', pinBlock: '1234567890ABCDEF', ksn: '00000000000000000000' };
    execution.begin('pin', process, async (deps, task, within) => {
      const response = await createUseCases(deps).pins.submit(PRINCIPAL, id, pin);
      if (!isAwaitingPin(response)) within.respondToClient(deps, task, response);
    });
  },
};

const takeBack: ClientAction = {
  name: VOID,
  isPossible: (execution) => saleOf(execution) !== undefined,
  ask: (execution, process) =>
    execution.begin('void', process, async (deps, _task, within) => {
      const sale = await deps.store.find(saleOf(within)!);
      if (sale) await createUseCases(deps).voids.start(sale);
    }),
};

/** Gives money back; the whole of the sale is 10.00. Of two that are equal it does not matter which is asked for first. */
export function refundOf(name: string, amount: string, before?: ClientAction): ClientAction {
  return {
    name: `the merchant asks for ${name} of ${amount}`,
    isPossible: (execution) =>
      saleOf(execution) !== undefined &&
      (before === undefined || !execution.isReduced || execution.clientsDone.has(before.name)),
    ask: (execution, process) =>
      execution.begin(name, process, async (deps, task, within) => {
        const sale = await deps.store.find(saleOf(within)!);
        if (!sale) return;
        within.respondToClient(
          deps,
          task,
          await createUseCases(deps).refunds.refund(sale, { amount, refundReference: name }),
        );
      }),
  };
}

/** The sale. */
export function saleOf(execution: Execution): Transaction | undefined {
  for (const { transaction } of execution.store.rows.values())
    if (transaction.type === TransactionType.Tap) return transaction;
  return undefined;
}

const FIRST_REFUND = refundOf('refund', '10.00');
const APPROVED_SALE = ['client: the phone submits a tap', 'switch books request 1, says 00'];
const REVERSAL_CODES = ['00', '25', '57', '96'];

export const CASES: readonly Case[] = [
  {
    name: 'sale',
    setUp: [],
    clients: [
      { action: submit, at: 'A' },
      { action: submitAgain, at: 'B' },
    ],
    codes: { request: ['00', '51', '91', '77'], reversal: [...REVERSAL_CODES, '21'] },
  },
  {
    name: 'sale with PIN',
    setUp: ['client: the phone submits a tap', 'switch says 55 to request 1'],
    clients: [
      { action: submit, at: 'A' },
      { action: enterPin, at: 'B' },
    ],
    codes: { request: ['00', '51', '55', '91'], reversal: ['00', '25', '96'] },
  },
  {
    name: 'sale and void',
    setUp: APPROVED_SALE,
    clients: [
      { action: submit, at: 'A' },
      { action: takeBack, at: 'A' },
      { action: refundOf('refund', '10.00'), at: 'B' },
    ],
    codes: { request: ['00'], reversal: REVERSAL_CODES },
  },
  {
    name: 'sale and refund',
    setUp: APPROVED_SALE,
    clients: [
      { action: submit, at: 'A' },
      { action: refundOf('refund', '10.00'), at: 'A' },
      { action: takeBack, at: 'B' },
    ],
    codes: { request: ['00', '51', '91', '77'], reversal: REVERSAL_CODES },
  },
  {
    name: 'sale and two refunds',
    setUp: APPROVED_SALE,
    clients: [
      { action: submit, at: 'A' },
      { action: FIRST_REFUND, at: 'A' },
      { action: refundOf('second refund', '10.00', FIRST_REFUND), at: 'B' },
    ],
    codes: { request: ['00', '51', '91', '77'], reversal: REVERSAL_CODES },
  },
];
