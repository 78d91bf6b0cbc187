import type { CallOutcome, ClientCall } from './client-call.ts';
import { operationCall } from './client-call.ts';
import type { LoadPhone } from './fleet.ts';
import type { Clients } from './tap-calls.ts';

/** The page size of a merchant's app. */
const PAGE = 20;
const FOUND: CallOutcome = { outcome: 'Found', isExpected: true, isError: false };

/** A client looks up its latest transaction (4.2), or the merchant's list if it has none yet. */
export function detailCall(clients: Clients, scenario: string): ClientCall {
  const phone = clients.fleet.nextUsed();
  const { credentials, lastTransactionId: id } = phone;
  if (id === undefined) return listCall(clients, scenario, phone);
  const parts = { params: { id } };
  return operationCall(clients.requests, 'getTransaction', { scenario, credentials, parts, read: () => FOUND });
}

/** A client requests its merchant's latest transactions (4.1). */
export function listCall(clients: Clients, scenario: string, phone: LoadPhone = clients.fleet.next()): ClientCall {
  const { credentials } = phone;
  const parts = { query: { limit: PAGE } };
  return operationCall(clients.requests, 'listTransactions', { scenario, credentials, parts, read: () => FOUND });
}
