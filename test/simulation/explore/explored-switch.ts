import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';
import type { PinData } from '../../../src/kits/processor-kit/processor.ts';
import type { TransactionKey } from '../../../src/payments/model/transaction.ts';
import type {
  SendTiming,
  Switch,
  Switches,
  SwitchResponse,
  SwitchSlot,
} from '../../../src/payments/ports/switch-ports.ts';
import { takenStan } from '../../support/stans.ts';
import {
  type DialectRequest,
  prepareRefund,
  prepareSale,
  readOutcome,
  readReversalResponse,
  reversalMessage,
} from '../switch/dialect.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Execution, Waiting } from './execution.ts';
import { approvalKey } from './explored-process.ts';
import { EXPLORED_PROFILE } from './explored-profile.ts';
import { never, type Task } from './task.ts';

const PIN = { block: new Uint8Array(8) } as PinData;

/** The switch for a task of a process: one processor, one connection at a time. */
export function exploredSwitches(execution: Execution, task: Task): Switches {
  return { find: (acquirerId, processorId) => (processorId === 1 ? switchOf(execution, task, acquirerId) : undefined) };
}

function switchOf(execution: Execution, task: Task, acquirerId: number): Switch {
  const { process } = task;
  return {
    type: 'type-1',
    profile: EXPLORED_PROFILE,
    isSignedOn: true,
    isFull: false,
    takesPin: true,
    takesMandates: false,
    nextStan: async (tid) => takenStan(task.recall('STAN', () => execution.nextStan(acquirerId, tid))),
    takeSlot: (connectionId) => takeSlot(execution, task, connectionId),
    hasConnection: (connectionId) => task.recall('connection', () => connectionId === process.connectionId),
    prepare: (purchase) => prepareSale(purchase, acquirerId),
    prepareRefund: (refund) => prepareRefund(refund, acquirerId),
    translatePin: async () => PIN,
    providerId: () => ({}),
  } satisfies Partial<Switch> as Partial<Switch> as Switch;
}

async function takeSlot(execution: Execution, task: Task, connectionId?: string): Promise<SwitchSlot | undefined> {
  const { process } = task;
  if (task.isGone) return never();
  const deviation = task.meet('slot', 'line');
  if (deviation === 'finds no line') return undefined;
  const found = task.recall('slot', () => {
    if (deviation === 'finds another line') cutLine(execution, process.name);
    return connectionId === undefined || connectionId === process.connectionId ? process.connectionId : undefined;
  });
  return found === undefined ? undefined : slotOf(execution, task, found);
}

/** The connection is lost and replaced; what was written on it is still in transit. */
export function cutLine(execution: Execution, processName: string): void {
  const process = execution.processNamed(processName);
  const { connectionId } = process;
  process.connection++;
  for (const { number } of execution.requests.filter((request) => request.connectionId === connectionId)) {
    execution.waiting.get(number)?.end({ response: 'closed' });
  }
}

function slotOf(execution: Execution, task: Task, connectionId: string): SwitchSlot {
  return {
    authorize: async (request, timing, about) => {
      const { message, kind } = request as DialectRequest;
      const sent = { kind, message, about, reversalAttempt: 0 };
      return send(execution, task, { connectionId, timing, ...sent }, (response) => {
        const outcome = readOutcome(response, message);
        const { acquirerId, id, attempt } = about;
        if (outcome.kind === 'approved') task.process.approvals.set(approvalKey(response), { acquirerId, id, attempt });
        return { outcome, providerFields: {} };
      });
    },
    reverse: (reversal, timing, about) => {
      const message = reversalMessage(reversal);
      const sent = { kind: 'reversal', message, about, reversalAttempt: reversal.attempt } as const;
      return send(execution, task, { connectionId, timing, ...sent }, readReversalResponse);
    },
    complete: () => Promise.reject(new Error('this switch posts automatically')),
    release: () => {},
  };
}

interface Sending {
  readonly kind: SentRequest['kind'];
  readonly message: IsoMessage;
  readonly about: TransactionKey;
  readonly reversalAttempt: number;
  readonly connectionId: string;
  readonly timing: SendTiming;
}

/** Writes a message and waits for its response, until its deadline. */
async function send<Value>(
  execution: Execution,
  task: Task,
  sending: Sending,
  read: (response: IsoMessage) => Value | undefined,
): Promise<SwitchResponse<Value>> {
  const { connectionId, timing } = sending;
  const { process } = task;
  if (task.isGone) return never();
  const deviation = task.meet('send', 'send');
  if (deviation === 'hangs') await task.park('send');
  const number = task.recall('written', () => {
    const isLate = execution.time.nowMs > timing.sendByAtMs;
    const isDown = connectionId !== process.connectionId || !process.isAlive;
    return deviation === 'writes nothing' || isLate || isDown ? undefined : write(execution, task, sending).number;
  });
  if (number === undefined) {
    return task.isGone ? never() : { connectionId, kind: 'failed', written: false, reason: 'down' };
  }
  if (deviation === 'is the last thing before the process dies') {
    execution.kill(process);
    return never();
  }
  return task.later<SwitchResponse<Value>>('response', (come) => {
    const end: Waiting['end'] = ({ response }) => {
      execution.waiting.delete(number);
      come(responseOf(response, connectionId, read));
    };
    execution.waiting.set(number, { task, deadlineAtMs: timing.deadlineAtMs, end });
  });
}

function responseOf<Value>(
  response: Parameters<Waiting['end']>[0]['response'],
  connectionId: string,
  read: (response: IsoMessage) => Value | undefined,
): SwitchResponse<Value> {
  if (typeof response === 'string') return { connectionId, kind: 'failed', written: true, reason: response };
  const value = 'mti' in response ? read(response as IsoMessage) : undefined;
  return value === undefined ? { connectionId, kind: 'garbled' } : { connectionId, kind: 'responded', value };
}

function write(execution: Execution, task: Task, sending: Sending): SentRequest {
  const { kind, message, about, reversalAttempt, connectionId } = sending;
  const key = String(message.rrn);
  const request: SentRequest = {
    number: execution.requests.length + 1,
    kind,
    key,
    transactionId: about.id,
    reversalAttempt,
    message,
    processName: task.process.name,
    connectionId,
    writtenAtMs: execution.time.nowMs,
    isTaken: false,
  };
  execution.requests.push(request);
  if (kind !== 'reversal' && !execution.honest) execution.ledger.expect(key, about.id, Number(message.amount));
  return request;
}
