import { randomUUID } from 'node:crypto';
import type { Credentials } from '#schemas/client';
import { LoadError } from '../../../basics/errors.ts';
import type { HttpAnswer } from '../answer-reader.ts';
import { type CallOutcome, type ClientCall, operationCall } from './client-call.ts';
import { type Clients, type LoadTap, tapCall } from './tap-calls.ts';

/**
 * A backend creates a link (4.12), a phone taps it (4.4), and the backend looks up its status (4.6).
 *
 * @throws LoadError BAD_FILE if the profile has no API key
 */
export function linkCall(clients: Clients, tap: LoadTap): ClientCall {
  const { backend, requests } = clients;
  const { scenario } = tap;
  if (backend === undefined) throw new LoadError('BAD_FILE', `The profile has no apiKey, which ${scenario} needs.`);
  const { merchant } = tap.phone;
  const paymentReference = randomUUID();
  const body = {
    merchantId: merchant.id,
    xTid: merchant.xTid,
    paymentReference,
    amount: (tap.amountMinor / 100).toFixed(2),
    currencyCode: 'ZAR',
    timestamp: new Date().toISOString(),
    isConsumerApp: true,
    image: { required: false },
  };
  return operationCall(requests, 'createApplink', {
    scenario,
    credentials: backend,
    parts: { body },
    read: ({ reference }) => {
      const tapped = tapCall(clients, { ...tap, merchantReference: paymentReference });
      return followed(tapped, (outcome) => lookCall(clients, { scenario, backend, reference, outcome }));
    },
  });
}

/** A call that is followed by the next one if its outcome is as expected. */
function followed(call: ClientCall, next: (outcome: CallOutcome) => ClientCall): ClientCall {
  const read = (answer: HttpAnswer) => {
    const step = call.read(answer);
    if ('request' in step) return followed(step, next);
    return step.isExpected ? next(step) : step;
  };
  return { ...call, read };
}

interface Tapped {
  readonly scenario: string;
  readonly backend: Credentials;
  readonly reference: string;
  readonly outcome: CallOutcome;
}

/** Looks the link up. The reported outcome is that of the tap. */
function lookCall({ requests }: Clients, { scenario, backend, reference, outcome }: Tapped): ClientCall {
  const parts = { params: { reference } };
  return operationCall(requests, 'getLinkStatus', { scenario, credentials: backend, parts, read: () => outcome });
}
