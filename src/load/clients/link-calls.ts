import { randomUUID } from 'node:crypto';
import { LoadError } from '../../errors.ts';
import type { HttpAnswer } from '../answer-reader.ts';
import { type CallOutcome, type ClientCall, jsonOf, refusal } from './client-call.ts';
import { type Clients, type LoadTap, tapCall } from './tap-calls.ts';

/**
 * A backend makes a link (4.12), a phone taps it (4.4), and the backend asks what has become of it (4.6).
 *
 * @throws LoadError BAD_FILE when the profile has no API key
 */
export function linkCall(clients: Clients, tap: LoadTap): ClientCall {
  const { backend, requests } = clients;
  if (backend === undefined) throw new LoadError('BAD_FILE', `The profile has no apiKey, which ${tap.scenario} needs.`);
  const paymentReference = randomUUID();
  const { merchant } = tap.phone;
  const request = requests.post('/consumer/applink', backend, {
    merchantId: merchant.id,
    xTid: merchant.xTid,
    paymentReference,
    amount: (tap.amountMinor / 100).toFixed(2),
    currencyCode: 'ZAR',
    timestamp: new Date().toISOString(),
    isConsumerApp: true,
    image: { required: false },
  });
  const read = (answer: HttpAnswer) => {
    const reference = memberOf(answer, 'reference');
    if (reference === undefined) return refusal(answer);
    const tapped = tapCall(clients, { ...tap, merchantReference: paymentReference });
    const readTap = (tapAnswer: HttpAnswer) => {
      const step = tapped.read(tapAnswer);
      if ('request' in step || !step.isExpected) return step;
      const path = `/consumer/QRCode/${reference}`;
      return { scenario: tap.scenario, request: requests.get(path, backend), read: readStatus(step) };
    };
    return { ...tapped, read: readTap };
  };
  return { scenario: tap.scenario, request, read };
}

/** The outcome is that of the tap, once the link is there to be looked up. */
function readStatus(tapped: CallOutcome) {
  return (answer: HttpAnswer) => (answer.status === 200 ? tapped : refusal(answer));
}

function memberOf(answer: HttpAnswer, name: string): string | undefined {
  if (answer.status !== 200) return undefined;
  const value = (jsonOf(answer) as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}
