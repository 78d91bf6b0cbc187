import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import type { Phone, PhoneResponse, PhoneTap, PinSubmission, TapReading } from '../../src/tools/phone/phone.ts';
import { eventually } from './eventually.ts';
import { outcomeOf } from './responses.ts';

/** The PIN of every simulated card. */
export const RIGHT_PIN = '12345';
export const WRONG_PIN = '99999';

/** A tap whose response required the PIN. */
export interface AskedForPin {
  readonly id: string;
  readonly pinToken: string;
  readonly response: OnlineAuthorization;
  readonly reading: TapReading;
}

/** Taps a card whose issuer requires a PIN. @throws if it requires none */
export async function tapForPin(phone: Phone, tap: Partial<PhoneTap> = {}): Promise<AskedForPin> {
  const reading = phone.read({ amount: '50.05', currency: 'ZAR', ...tap });
  // On a busy machine the deadline of the switch can pass before anything is sent; the next attempt is the same tap.
  const response = await eventually(async () => {
    const received = await phone.submit(await phone.sealReading(reading));
    if (received.status === 200 && outcomeOf(received).type === 'UnableToGoOnline') throw new Error('nothing was sent');
    return received;
  });
  return askedFor(reading, response);
}

/** The values of a response that requires a PIN, or another PIN. @throws if it does not */
export function askedFor(reading: TapReading, phoneResponse: PhoneResponse): AskedForPin {
  const response = outcomeOf(phoneResponse);
  if (response.pinToken === undefined) throw new Error(`no PIN is required: ${JSON.stringify(response)}`);
  return { id: response.serviceReference, pinToken: response.pinToken, response, reading };
}

/** The request that submits a PIN. */
export async function sealPin(
  phone: Phone,
  { id: transactionId, pinToken, reading }: Omit<AskedForPin, 'response'>,
  pin: string = RIGHT_PIN,
): Promise<PinSubmission> {
  return { ...(await phone.sealReading(phone.enterPin(reading, pin))), transactionId, pinToken };
}

/** Enters a PIN and waits for the response. */
export async function enterPin(
  phone: Phone,
  asked: Omit<AskedForPin, 'response'>,
  pin?: string,
): Promise<PhoneResponse> {
  return phone.submitPin(await sealPin(phone, asked, pin));
}
