import type1 from '../../../processors/type-1/index.ts';
import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';
import { recordMacVerdict } from '../../../src/kits/processor-kit/mac-layout.ts';

type Type1Message = Parameters<typeof type1.simulate>[0];

/** A response of the switch: a code, and a flaw of the message. */
export interface CodedResponse {
  readonly code: string;
  /** DE4 if it differs from the request. */
  readonly amountMinor?: number | undefined;
  readonly flaw?: Flaw | undefined;
}

export type Flaw = OrdinaryFlaw | ReversalForm;

type OrdinaryFlaw = (typeof ORDINARY_FLAWS)[number];

export const ORDINARY_FLAWS = [
  'other amount',
  'no RRN',
  'other terminal',
  'bad MAC',
  'other MTI',
  'undecodable',
] as const;

export type ReversalForm = (typeof REVERSAL_FORMS)[number];

/**
 * A response to a sale or a refund in the form of a response to a reversal (0430), with more or less of the fields of
 * its request.
 */
export const REVERSAL_FORMS = [
  'as a reversal',
  'as a reversal, other DE7',
  'as a reversal, no DE7',
  'as a reversal, no DE37',
  'as a reversal, no DE7 and DE37',
] as const;

export function isReversalForm(flaw: Flaw | undefined): flaw is ReversalForm {
  return flaw?.startsWith('as a reversal') ?? false;
}

/** A reversal keeps the STAN of its original: without DE7 a response may belong to either of the two. */
export function isAmbiguous({ flaw }: CodedResponse): boolean {
  return flaw === 'as a reversal, no DE7' || flaw === 'as a reversal, no DE7 and DE37';
}

/** The meaning of a code for a purchase or a refund, according to ISO 8583:1987 A.8 and not to the gateway's tables. */
export type Meaning = 'approved' | 'declined' | 'trouble' | 'wants PIN' | 'unclear';

const MEANINGS: Readonly<Record<string, Meaning>> = {
  '00': 'approved',
  '10': 'approved',
  '12': 'declined',
  '51': 'declined',
  '57': 'declined',
  '75': 'declined',
  '94': 'declined',
  '06': 'trouble',
  '91': 'trouble',
  '96': 'trouble',
  '55': 'wants PIN',
  // For Visa, the scheme of every simulated tap.
  '70': 'wants PIN',
};

/** The meaning of a response to a purchase; an unreliable response has none. */
export function meaningOf({ code, flaw }: CodedResponse): Meaning {
  return flaw === undefined ? (MEANINGS[code] ?? 'unclear') : 'unclear';
}

/**
 * The meaning of a code for a reversal: 21 is "no action taken"; 94 is a recognized repeat, with any outcome of the
 * first attempt.
 */
export type ReversalMeaning = 'done' | 'repeated' | 'not found' | 'refused' | 'trouble' | 'unclear';

const REVERSAL_MEANINGS: Readonly<Record<string, ReversalMeaning>> = {
  '00': 'done',
  '94': 'repeated',
  '21': 'not found',
  '25': 'not found',
  '57': 'refused',
  '12': 'refused',
  '06': 'trouble',
  '91': 'trouble',
  '96': 'trouble',
};

/** An acknowledgement takes no money: fields that do not match it with its request do not change its meaning. */
const HARMLESS: readonly (Flaw | undefined)[] = [undefined, 'other amount', 'no RRN'];

export function reversalMeaningOf({ code, flaw }: CodedResponse): ReversalMeaning {
  return HARMLESS.includes(flaw) || isReversalForm(flaw) ? (REVERSAL_MEANINGS[code] ?? 'unclear') : 'unclear';
}

/** The message of a response; undefined if its bytes are not a message. */
export function responseTo(request: IsoMessage, response: CodedResponse): IsoMessage | undefined {
  const { code, amountMinor, flaw } = response;
  if (flaw === 'undecodable') return undefined;
  const authorizationCode = code === '00' || code === '10' ? '123456' : undefined;
  const message: IsoMessage = {
    ...type1.simulate(request as Type1Message, { responseCode: code, amountMinor, authorizationCode }),
  };
  return flaw === undefined ? message : flawed(message, flaw);
}

function flawed(message: IsoMessage, flaw: Exclude<Flaw, 'undecodable'>): IsoMessage {
  if (isReversalForm(flaw)) return inReversalForm(message, flaw);
  switch (flaw) {
    case 'other amount':
      return { ...message, amount: '000000000001' };
    case 'no RRN':
      return { ...message, rrn: undefined };
    case 'other terminal':
      return { ...message, tid: 'TW999999' };
    case 'other MTI':
      return { ...message, mti: '0110' };
    case 'bad MAC':
      recordMacVerdict(message, 'bad');
      return message;
  }
}

function inReversalForm(message: IsoMessage, flaw: ReversalForm): IsoMessage {
  const reversal: IsoMessage = { ...message, mti: '0430', authorizationCode: undefined };
  switch (flaw) {
    case 'as a reversal':
      return reversal;
    case 'as a reversal, other DE7':
      return { ...reversal, transmissionDateTime: OTHER_TIME };
    case 'as a reversal, no DE7':
      return { ...reversal, transmissionDateTime: undefined };
    case 'as a reversal, no DE37':
      return { ...reversal, rrn: undefined };
    case 'as a reversal, no DE7 and DE37':
      return { ...reversal, transmissionDateTime: undefined, rrn: undefined };
  }
}

/** Before the simulation began: no message has it. */
const OTHER_TIME = '0228235959';
