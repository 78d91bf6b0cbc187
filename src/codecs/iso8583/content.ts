import { ANYTHING, DIGIT, EQUALS, LETTER_D, LOWER, SPACE, SPECIAL, UPPER } from '../bytes/character-classes.ts';

/**
 * The allowed characters of a text, in the letters of ISO 8583:1987 4.3: n digits, a letters, s special characters,
 * p the pad character (a space), z the characters of tracks, `x+n` a sign (C credit, D debit) and digits, `+n` the
 * signs + and - instead. `any` is every character of ISO 8859-1, for fields that dialects use freely.
 */
export type Content = 'n' | 'a' | 'an' | 'anp' | 'ns' | 'as' | 'ans' | 'z' | 'x+n' | '+n' | 'any';

const LETTERS = UPPER | LOWER | LETTER_D;
const SIGNS = SPECIAL | EQUALS | SPACE;

/** The kinds of characters that each content allows (`character-classes.ts`). */
export const KINDS_OF_CONTENT: Readonly<Record<Content, number>> = {
  n: DIGIT,
  a: LETTERS,
  an: LETTERS | DIGIT,
  anp: LETTERS | DIGIT | SPACE,
  ns: DIGIT | SIGNS,
  as: LETTERS | SIGNS,
  ans: LETTERS | DIGIT | SIGNS,
  z: DIGIT | LETTER_D | EQUALS,
  // The sign is checked separately; letters are only admitted here.
  'x+n': LETTERS | DIGIT,
  '+n': SIGNS | DIGIT,
  any: ANYTHING,
};

/** The codes of the signs that a signed number begins with; undefined for any other content. */
export function signsOf(content: Content): readonly number[] | undefined {
  if (content === 'x+n') return CREDIT_DEBIT;
  return content === '+n' ? PLUS_MINUS : undefined;
}

const CREDIT_DEBIT = Array.from('CD', (sign) => sign.charCodeAt(0));
const PLUS_MINUS = Array.from('+-', (sign) => sign.charCodeAt(0));
