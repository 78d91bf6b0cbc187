import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import type { Problem } from '#schemas/problem';
import { SAMPLE_CARDS, type SampleCardName } from '../card/sample-tap.ts';
import { MoneyError, StartError } from '../errors.ts';
import { Phone, type PhoneAnswer } from '../phone/phone.ts';
import { readProfile } from '../phone/profile.ts';

const USAGE = `usage: tapwire tap --amount 10.00 [--currency ZAR] [--card ${Object.keys(SAMPLE_CARDS).join('|')}]
                   [--reference TEXT] [--device ID] [--profile FILE] [--json]`;

/** `tapwire tap`: one tap, as a phone would submit it. Exit code 0 when approved, 3 for any other outcome, 1 for a refusal. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      amount: { type: 'string' },
      currency: { type: 'string', default: 'ZAR' },
      card: { type: 'string', default: 'visa' },
      reference: { type: 'string' },
      device: { type: 'string' },
      profile: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.amount === undefined || !(values.card in SAMPLE_CARDS)) {
    console.error(USAGE);
    return 2;
  }
  const profile = readProfile(values.profile ?? join(process.env.TAPWIRE_DATA ?? '.tapwire', 'demo.json'));
  const phone = new Phone(profile, values.device);
  const answer = await phone
    .tap({
      amount: values.amount,
      currency: values.currency,
      card: values.card as SampleCardName,
      merchantReference: values.reference,
    })
    .catch((cause) => {
      if (cause instanceof MoneyError)
        throw new StartError('BAD_CONFIG', `--amount, --currency: ${cause.code}`, { cause });
      throw new StartError('BAD_CONFIG', `Nobody answers at ${profile.url}: is the gateway running?`, { cause });
    });
  console.log(values.json ? JSON.stringify(answer.body) : describe(answer));
  if (answer.status !== 200) return 1;
  return authorization(answer).type === 'Approved' ? 0 : 3;
}

function authorization({ body }: PhoneAnswer): OnlineAuthorization {
  return (body as { onlineAuthorizationResponse: OnlineAuthorization }).onlineAuthorizationResponse;
}

/** The answer on a few lines. */
export function describe(answer: PhoneAnswer): string {
  const ms = `${answer.ms.toFixed(0)} ms`;
  if (answer.status !== 200) {
    const { message, errors = [] } = answer.body as Problem;
    return [
      `${answer.status}  ${message}  (${ms})`,
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
    serviceReference,
  } = authorization(answer);
  const code = isoResponseCode && `  code ${isoResponseCode}`;
  const approval = authorizationCode && `  approval ${authorizationCode}`;
  return `${type}  ${currency} ${amount} minor units  ${cardScheme} ${maskedPAN}${code}${approval}  ${errorMessage ?? ''}  (${ms})\n     ${serviceReference}`;
}
