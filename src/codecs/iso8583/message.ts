/** The message type indicator (ISO 8583:2003 4.1): four digits for version, class, function and origin. */

const VERSIONS = {
  '0': 'ISO 8583:1987',
  '1': 'ISO 8583:1993',
  '2': 'ISO 8583:2003',
  '8': 'national use',
  '9': 'private use',
} as const;

const CLASSES = {
  '1': 'authorization',
  '2': 'financial',
  '3': 'file action',
  '4': 'reversal',
  '5': 'reconciliation',
  '6': 'administrative',
  '7': 'fee collection',
  '8': 'network management',
} as const;

const FUNCTIONS = {
  '0': 'request',
  '1': 'request response',
  '2': 'advice',
  '3': 'advice response',
  '4': 'notification',
  '5': 'notification acknowledgement',
  '6': 'instruction',
  '7': 'instruction acknowledgement',
} as const;

const ORIGINS = {
  '0': 'acquirer',
  '1': 'acquirer repeat',
  '2': 'issuer',
  '3': 'issuer repeat',
  '4': 'other',
  '5': 'other repeat',
} as const;

/** The four digits in words. */
export interface MtiParts {
  readonly version: (typeof VERSIONS)[keyof typeof VERSIONS];
  readonly class: (typeof CLASSES)[keyof typeof CLASSES];
  readonly function: (typeof FUNCTIONS)[keyof typeof FUNCTIONS];
  readonly origin: (typeof ORIGINS)[keyof typeof ORIGINS];
}

/** The meaning of an MTI; undefined if it is not four digits or one of them is reserved. */
export function parseMti(mti: string): MtiParts | undefined {
  if (mti.length !== 4) return undefined;
  const version = VERSIONS[mti.charAt(0) as keyof typeof VERSIONS];
  const messageClass = CLASSES[mti.charAt(1) as keyof typeof CLASSES];
  const messageFunction = FUNCTIONS[mti.charAt(2) as keyof typeof FUNCTIONS];
  const origin = ORIGINS[mti.charAt(3) as keyof typeof ORIGINS];
  if (!version || !messageClass || !messageFunction || !origin) return undefined;
  return { version, class: messageClass, function: messageFunction, origin };
}

/** An odd function responds to the even one before it. */
export function isResponse(mti: string): boolean {
  return (mti.charCodeAt(2) & 1) === 1;
}

/** The MTI of the response to a request or an advice. A repeat has the same response: 0430 responds to 0420 and 0421. */
export function responseMti(mti: string): string | undefined {
  if (parseMti(mti) === undefined || isResponse(mti)) return undefined;
  return mti.substring(0, 2) + (Number(mti.charAt(2)) + 1) + (Number(mti.charAt(3)) & ~1);
}

/** The parts of a message that pairing needs. */
export interface PairedMessage {
  readonly mti: string;
  readonly [name: string]: unknown;
}

/**
 * The values that a request and its response share: version and class of the MTI and the text of these fields.
 * Undefined if one of them is missing, because missing values must never form a pair.
 */
export function pairingKey(message: PairedMessage, fields: readonly string[]): string | undefined {
  let key = message.mti.substring(0, 2);
  for (const name of fields) {
    const value = message[name];
    if (typeof value !== 'string') return undefined;
    key += `|${value}`;
  }
  return key;
}

/** Whether `text` matches a pattern in which `x` stands for any character. */
export function matchesPattern(text: string, pattern: string): boolean {
  if (text.length !== pattern.length) return false;
  for (let index = 0; index < pattern.length; index++) {
    if (pattern[index] !== 'x' && pattern[index] !== text[index]) return false;
  }
  return true;
}
