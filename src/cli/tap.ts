import { parseArgs } from 'node:util';
import type { Problem } from '#schemas/problem';
import { CryptoError, StartError } from '../basics/errors.ts';
import { SAMPLE_CARDS, type SampleCardName } from '../card/sample-tap.ts';
import { authorizationOf, Phone, type PhoneResponse } from '../tools/phone/phone.ts';
import { readProfileOrDemo } from '../tools/phone/profile.ts';
import { checkAmount, showAmount } from './amount.ts';
import { bad, flag, good, poor, text } from './output.ts';

export const USAGE = `usage: tapwire tap --amount 10.00 [--currency ZAR] [--card ${Object.keys(SAMPLE_CARDS).join('|')}]
                   [--pin DIGITS] [--reference TEXT] [--device ID] [--profile FILE] [--json]

  --pin        the PIN, if the switch requests one
  --reference  the merchantReference; that of a link pays the link; default: a generated one
  --device     the device installation id of the phone
  --profile    the merchant (tapwire profile); default: that of npm start

Submits a tap with a published test card, as a phone would. Exit code 0: approved; 3: any other outcome; 1: refused.`;

/**
 * `tapwire tap`: submits one tap as a phone would, and its PIN on request. Exit code 0 when approved, 3 for any
 * other outcome, 1 for a refusal.
 */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      amount: text,
      currency: { ...text, default: 'ZAR' },
      card: { ...text, default: 'visa' },
      pin: text,
      reference: text,
      device: text,
      profile: text,
      json: flag,
    },
  });
  const { amount, currency, card } = values;
  if (amount === undefined) throw new StartError('BAD_USAGE', `Missing: --amount.\n\n${USAGE}`);
  if (!Object.hasOwn(SAMPLE_CARDS, card))
    throw new StartError('BAD_USAGE', `--card ${card}: expected one of ${Object.keys(SAMPLE_CARDS).join(', ')}`);
  checkAmount({ amount, currency });
  const profile = readProfileOrDemo(values.profile);
  const phone = new Phone(profile, values.device);
  const response = await phone
    .tap({
      amount,
      currency,
      card: card as SampleCardName,
      merchantReference: values.reference,
      pin: values.pin,
    })
    .catch((cause) => {
      if (cause instanceof CryptoError) throw new StartError('BAD_CONFIG', '--pin: 4 to 12 digits', { cause });
      throw new StartError('BAD_CONFIG', `No response from ${profile.url}. Is the gateway running?`, { cause });
    });
  console.log(
    values.json ? JSON.stringify(response.body) : describe(response, { isPinGiven: values.pin !== undefined }),
  );
  const outcome = authorizationOf(response)?.type;
  if (outcome === undefined) return 1;
  return outcome === 'Approved' ? 0 : 3;
}

function styleOf(outcome: string): (text: string) => string {
  if (outcome === 'Approved') return good;
  return outcome === 'Declined' ? bad : poor;
}

/** The HTTP response on a few lines. */
export function describe(response: PhoneResponse, { isPinGiven = false } = {}): string {
  const ms = `${response.ms.toFixed(0)} ms`;
  const outcome = authorizationOf(response);
  if (outcome === undefined) {
    const { message, errors = [] } = response.body as Problem;
    return [
      `${response.status}  ${message}  (${ms})`,
      ...errors.map(({ pointer, detail }) => `     ${pointer}: ${detail}`),
    ].join('\n');
  }
  const {
    type,
    amount,
    currency,
    maskedPAN,
    cardScheme,
    isoResponseCode,
    authorizationCode,
    errorMessage,
    isSingleTapAndPin,
    serviceReference,
  } = outcome;
  const code = isoResponseCode && `  code ${isoResponseCode}`;
  const approval = authorizationCode && `  approval ${authorizationCode}`;
  const hint = isSingleTapAndPin && !isPinGiven ? '  (a PIN is required: --pin)' : '';
  return `${styleOf(type)(type)}  ${showAmount(amount, currency)}  ${cardScheme} ${maskedPAN}${code}${approval}  ${errorMessage ?? ''}${hint}  (${ms})\n     ${serviceReference}`;
}
