import { dirname, join } from 'node:path';
import type { Problem } from '#schemas/problem';
import { CryptoError, StartError } from '../basics/errors.ts';
import { SAMPLE_CARDS, type SampleCardName } from '../card/sample-tap.ts';
import { authorizationOf, Phone, type PhoneResponse } from '../tools/phone/phone.ts';
import { profilePath, readProfileOrDemo } from '../tools/phone/profile.ts';
import { nextCounter, VirtualCard } from '../tools/phone/virtual-card.ts';
import type { CardProfile } from '../tools/simulator/issuer/chip-card.ts';
import { TEST_CARDS } from '../tools/simulator/issuer/chip-card.ts';
import { checkAmount, flag, readOptions, text } from './arguments.ts';
import { bad, good, poor, showAmount } from './output.ts';
import { readChipCards } from './simulate-options.ts';

const CHIP_CARDS = TEST_CARDS.map(({ name }) => name);

export const USAGE = `usage: tapwire tap --amount 10.00 [--currency ZAR] [--card NAME] [--issuer FILE] [--atc NUMBER]
                   [--pin DIGITS] [--reference TEXT] [--device ID] [--profile FILE] [--json]

  --card       ${Object.keys(SAMPLE_CARDS).join(', ')}: random cryptograms.
               ${CHIP_CARDS.join(', ')}: real ones, for an issuer with
               keys (tapwire simulate --issuer test)
  --issuer     other cards with real cryptograms: the file of tapwire simulate --issuer
  --atc        the transaction counter of a card with real cryptograms, 1 to 65535; default: it counts up
  --pin        the PIN, if the switch requests one
  --reference  the merchantReference; that of a link pays the link; default: a generated one
  --device     the device installation id of the phone
  --profile    the merchant (tapwire profile); default: that of npm start

Submits a tap with a published test card, as a phone would. Exit code 0: approved; 3: any other outcome; 1: refused.`;

const MAX_ATC = 65_535;

/**
 * `tapwire tap`: submits one tap as a phone would, and its PIN on request. Exit code 0 when approved, 3 for any
 * other outcome, 1 for a refusal.
 */
export async function run(args: string[]): Promise<number> {
  const values = readOptions(args, {
    currency: { ...text, default: 'ZAR' },
    card: { ...text, default: 'visa' },
    issuer: { ...text, default: 'test' },
    ...{ amount: text, atc: text, pin: text, reference: text, device: text, profile: text, json: flag },
  });
  const { amount, currency, card } = values;
  if (amount === undefined) throw new StartError('BAD_USAGE', `Missing: --amount.\n\n${USAGE}`);
  const chipCards = readChipCards(values.issuer);
  const names = [...Object.keys(SAMPLE_CARDS), ...chipCards.map(({ name }) => name)];
  if (!names.includes(card)) throw new StartError('BAD_USAGE', `--card ${card}: expected one of ${names.join(', ')}`);
  checkAmount({ amount, currency });
  const profile = readProfileOrDemo(values.profile);
  const phone = new Phone(profile, values.device);
  const chipCard = await presentedCard(
    chipCards.find(({ name }) => name === card),
    values,
  );
  const response = await phone
    .tap({
      amount,
      currency,
      ...(chipCard === undefined ? { card: card as SampleCardName } : { chipCard }),
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
  if (chipCard && outcome && !values.json) console.log(`     ${issuerCheckOf(chipCard, response)}`);
  if (outcome === undefined) return 1;
  return outcome === 'Approved' ? 0 : 3;
}

/** Undefined for a sample card, whose cryptograms are random. */
async function presentedCard(
  card: CardProfile | undefined,
  { atc, profile }: { readonly atc?: string; readonly profile?: string },
): Promise<VirtualCard | undefined> {
  if (card === undefined) {
    if (atc === undefined) return undefined;
    throw new StartError('BAD_USAGE', `--atc: only for cards with real cryptograms, such as ${CHIP_CARDS.join(', ')}`);
  }
  if (atc !== undefined && !(/^\d{1,5}$/.test(atc) && Number(atc) >= 1 && Number(atc) <= MAX_ATC))
    throw new StartError('BAD_USAGE', `--atc ${atc}: expected 1 to ${MAX_ATC}`);
  const counter = atc ?? (await nextCounter(join(dirname(profilePath(profile)), 'card-counters.json'), card.name));
  return new VirtualCard(card, Number(counter) - 1);
}

function issuerCheckOf(card: VirtualCard, response: PhoneResponse): string {
  const isTrusted = card.trusts(authorizationOf(response)?.tags ?? []);
  if (isTrusted === undefined) return 'the response has no issuer cryptogram (tag 91)';
  return isTrusted ? good('the issuer cryptogram (tag 91) is right') : bad('the issuer cryptogram (tag 91) is wrong');
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
