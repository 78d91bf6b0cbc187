import type1 from '../../../processors/type-1/index.ts';
import { recordMacVerdict } from '../../../src/processor-kit/mac-verdict.ts';
import type { IsoMessage } from '../../../src/processor-kit/processor.ts';

type Type1Message = Parameters<typeof type1.simulate>[0];

/** What the switch sends about a request: a code, and what is wrong with the response besides. */
export interface SwitchResponse {
  readonly code: string;
  /** DE4 where it differs from what was asked. */
  readonly amountMinor?: number | undefined;
  readonly flaw?: Flaw | undefined;
}

export type Flaw = 'other amount' | 'no RRN' | 'other terminal' | 'bad MAC' | 'other MTI' | 'undecodable';

/** What a code says about a purchase or a refund, by ISO 8583:1987 A.8 and not by the gateway's tables. */
export type Meaning = 'approved' | 'declined' | 'trouble' | 'wants PIN' | 'unclear';

const MEANINGS: Readonly<Record<string, Meaning>> = {
  '00': 'approved',
  '10': 'approved',
  '12': 'declined',
  '51': 'declined',
  '57': 'declined',
  '94': 'declined',
  '06': 'trouble',
  '91': 'trouble',
  '96': 'trouble',
  '55': 'wants PIN',
  // Of Visa, whose card every simulated tap has.
  '70': 'wants PIN',
};

/** What a response says about a purchase; one that cannot be relied on says nothing. */
export function meaningOf({ code, flaw }: SwitchResponse): Meaning {
  return flaw === undefined ? (MEANINGS[code] ?? 'unclear') : 'unclear';
}

/**
 * What a code says about a reversal: 21 is "no action taken"; 94 a repeat that is recognised, of whatever became of the first
 * attempt.
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

/** An acknowledgement takes no money: fields besides those that pair it with its request do not change what it says. */
const HARMLESS: readonly (Flaw | undefined)[] = [undefined, 'other amount', 'no RRN'];

export function reversalMeaningOf({ code, flaw }: SwitchResponse): ReversalMeaning {
  return HARMLESS.includes(flaw) ? (REVERSAL_MEANINGS[code] ?? 'unclear') : 'unclear';
}

/** The message of a response; undefined when its bytes are no message. */
export function responseTo(request: IsoMessage, response: SwitchResponse): IsoMessage | undefined {
  const { code, amountMinor, flaw } = response;
  if (flaw === 'undecodable') return undefined;
  const authorizationCode = code === '00' || code === '10' ? '123456' : undefined;
  const message: IsoMessage = {
    ...type1.simulate(request as Type1Message, { responseCode: code, amountMinor, authorizationCode }),
  };
  return flaw === undefined ? message : flawed(message, flaw);
}

function flawed(message: IsoMessage, flaw: Exclude<Flaw, 'undecodable'>): IsoMessage {
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
