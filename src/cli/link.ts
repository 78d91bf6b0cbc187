import { randomUUID } from 'node:crypto';
import { createClient, NoResponseError, ProblemError } from '#schemas/client';
import { StartError } from '../basics/errors.ts';
import { type Profile, readProfileOrDemo } from '../tools/phone/profile.ts';
import { checkAmount, readOptions, text } from './arguments.ts';

export const USAGE = `usage: tapwire link --amount 10.00 [--currency ZAR] [--reference TEXT] [--profile FILE]

  --reference  the paymentReference; default: a generated one
  --profile    the merchant (tapwire profile); default: that of npm start

Creates a payment link and prints the URL of its pay page.`;

/** The amount that a customer has to pay. */
export interface Bill {
  /** Decimal text in major units. */
  readonly amount: string;
  readonly currency: string;
  readonly paymentReference?: string | undefined;
}

/**
 * `tapwire link`: creates a link, as a merchant's backend would, and prints its URL. In a browser the URL opens the
 * pay page.
 */
export async function run(args: string[]): Promise<void> {
  const currencyOption = { ...text, default: 'ZAR' };
  const values = readOptions(args, { amount: text, currency: currencyOption, reference: text, profile: text });
  const { amount, currency, reference: paymentReference } = values;
  if (amount === undefined) throw new StartError('BAD_USAGE', `Missing: --amount.\n\n${USAGE}`);
  checkAmount({ amount, currency });
  const profile = readProfileOrDemo(values.profile);
  console.log(await createPayLink(profile, { amount, currency, paymentReference }));
}

/**
 * Creates a link for the merchant of a profile, with its API key.
 *
 * @returns the URL of its pay page, with the token that opens it
 * @throws StartError when the gateway refuses the link or does not respond
 */
export async function createPayLink(profile: Profile, bill: Bill): Promise<string> {
  const { amount, currency, paymentReference = `order-${randomUUID().slice(0, 8)}` } = bill;
  const client = createClient({ baseUrl: profile.url, credentials: { apiKey: profile.apiKey }, repeats: 0 });
  const body = {
    merchantId: profile.merchant.id,
    paymentReference,
    amount,
    currencyCode: currency,
    timestamp: new Date().toISOString(),
    isConsumerApp: true,
    image: { required: false },
  };
  try {
    return (await client.createApplink({ body })).url;
  } catch (cause) {
    throw new StartError('BAD_CONFIG', refusalOf(cause, profile), { cause });
  }
}

function refusalOf(error: unknown, { url }: Profile): string {
  if (error instanceof NoResponseError) return `No response from ${url}. Is the gateway running?`;
  if (!(error instanceof ProblemError)) throw error;
  const { detail, errors = [] } = error.problem;
  return [detail, ...errors.map(({ pointer, detail: fault }) => `${pointer} ${fault}`)].join(' ');
}
