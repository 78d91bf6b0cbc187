import type { HttpAnswer } from '../answer-reader.ts';
import { type ClientCall, jsonOf, refusal } from './client-call.ts';
import type { LoadPhone } from './fleet.ts';
import type { Clients } from './tap-calls.ts';

/** A page as a merchant's app shows it. */
const PAGE = 20;

/** A client looks its latest transaction up (4.2); the merchant's list when it has none yet. */
export function detailCall(clients: Clients, scenario: string): ClientCall {
  const phone = clients.fleet.nextUsed();
  const { lastTransactionId } = phone;
  if (lastTransactionId === undefined) return listCall(clients, scenario, phone);
  const request = clients.requests.get(`/transactions/${lastTransactionId}`, phone);
  return { scenario, request, read: (answer) => readFound(answer, isObject) };
}

/** A client asks for its merchant's latest transactions (4.1). */
export function listCall(clients: Clients, scenario: string, phone: LoadPhone = clients.fleet.next()): ClientCall {
  const request = clients.requests.get(`/transactions?limit=${PAGE}`, phone);
  return { scenario, request, read: (answer) => readFound(answer, Array.isArray) };
}

function readFound(answer: HttpAnswer, isRight: (body: unknown) => boolean) {
  if (answer.status !== 200 || !isRight(jsonOf(answer))) return refusal(answer);
  return { outcome: 'Found', isExpected: true, isError: false };
}

function isObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null;
}
