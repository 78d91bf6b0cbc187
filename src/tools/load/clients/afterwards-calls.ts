import { randomUUID } from 'node:crypto';
import type { Credentials } from '#schemas/client';
import { LoadError } from '../../../basics/errors.ts';
import type { HttpAnswer } from '../answer-reader.ts';
import { type CallOutcome, type ClientCall, operationCall } from './client-call.ts';
import { type Clients, type LoadTap, tapCall } from './tap-calls.ts';

const REFUNDS = 2;
/** Small enough that two of them exceed no sale. */
const REFUND_AMOUNT = '5.00';

/**
 * A phone taps. If the tap is approved, the backend immediately has the sale voided, or refunded in two parts.
 *
 * @throws LoadError BAD_FILE if the profile has no API key
 */
export function afterwardsCall(clients: Clients, tap: LoadTap, what: 'void' | 'refund'): ClientCall {
  const { backend } = clients;
  if (backend === undefined) throw new LoadError('BAD_FILE', `The profile has no apiKey, which ${tap.scenario} needs.`);
  let sale: string | undefined;
  const keepAnswer: Clients['keepAnswer'] = (answer) => {
    if (answer.outcome === 'Approved') sale = answer.id;
    clients.keepAnswer?.(answer);
  };
  const then = (outcome: CallOutcome) => {
    if (sale === undefined) return outcome;
    return what === 'void' ? voidCall(clients, backend, tap, sale) : refundCall(clients, backend, tap, sale, REFUNDS);
  };
  return followed(tapCall({ ...clients, keepAnswer }, tap), then);
}

function followed(call: ClientCall, next: (outcome: CallOutcome) => CallOutcome | ClientCall): ClientCall {
  const read = (answer: HttpAnswer) => {
    const step = call.read(answer);
    return 'request' in step ? followed(step, next) : next(step);
  };
  return { ...call, read };
}

function voidCall({ requests }: Clients, credentials: Credentials, { scenario }: LoadTap, id: string): ClientCall {
  const read = (): CallOutcome => ({ outcome: 'Void accepted', isExpected: true, isError: false });
  return operationCall(requests, 'voidSale', { scenario, credentials, parts: { params: { id } }, read });
}

function refundCall(clients: Clients, credentials: Credentials, tap: LoadTap, id: string, left: number): ClientCall {
  const body = { amount: REFUND_AMOUNT, refundReference: randomUUID() };
  return operationCall(clients.requests, 'refundSale', {
    scenario: tap.scenario,
    credentials,
    parts: { params: { id }, body },
    read: ({ serviceReference, type }) => {
      clients.keepAnswer?.({ id: serviceReference, outcome: type });
      if (left > 1) return refundCall(clients, credentials, tap, id, left - 1);
      return { outcome: `Refund ${type}`, isExpected: type === 'Approved', isError: false };
    },
  });
}
