/**
 * The violations of a faulty switch for a request that moves money, by name. Each returns the reactions to the request.
 * The ledger already contains what was really booked, independent of these reactions.
 */
import { type IsoMessage, otherStan } from '../../../kits/processor-kit/index.ts';
import type { Random } from '../faults.ts';
import { type ConnectionFate, type Reaction, SILENT, type Spoil } from '../simulated-switch.ts';

/** The request and the tools that a violation can use. */
interface Occasion {
  readonly random: Random;
  readonly deadlineMs: number;
  readonly amountMinor: number;
  /** Executes the request and returns the correct response. A second call counts as a repeated request. */
  readonly honest: () => Promise<Reaction>;
}

export interface Violation {
  readonly name: string;
  /** Whether a response is false; only the behaviour `arbitrary` allows that. */
  readonly isLie: boolean;
  /** Relative frequency; the default is 1. */
  readonly weight?: number;
  readonly commit: (occasion: Occasion) => Promise<Reaction> | Reaction;
}

/** A violation that closes the connection stops all payments until there is a new one, so it is rare. */
const COSTS_A_LINE = 0.05;

/** An approval needs no particular authorization code; this one marks approvals that were not booked. */
const UNBOOKED_CODE = '999999';
const DECLINES = ['05', '14', '51', '54', '57', '61', '63'] as const;
const TROUBLE = ['91', '96', '06', '22', '30', '92'] as const;
/** Neither an approval nor a decline, so the acquirer must reverse. */
export const UNKNOWN = ['Z9', '77', '1B', '09', '32', '68'] as const;
const REFUSALS = ['05', '12', '14', '40', '57', '58'] as const;
/** MTIs of requests, of responses of other kinds, and invalid ones, after the digit of the version. */
const WRONG_TYPES = ['100', '110', '130', '210', '230', '410', '430', '810', '111'] as const;
const MISSING = ['rrn', 'stan', 'tid', 'amount', 'responseCode', 'authorizationCode', 'transmissionDateTime'] as const;
const LONG_MS = 20_000;

export function pick<T>(random: Random, among: readonly T[]): T {
  return among[Math.floor(random.next() * among.length)]!;
}

/** Draws a violation by weight. */
export function chooseViolation(random: Random, among: readonly Violation[]): Violation {
  const weightOf = ({ weight = 1 }: Violation) => weight;
  let left = random.next() * among.reduce((sum, violation) => sum + weightOf(violation), 0);
  for (const violation of among) {
    left -= weightOf(violation);
    if (left < 0) return violation;
  }
  return among[0]!;
}

const saying = (responseCode: string, changes: Partial<Reaction> = {}): Reaction => ({
  ...SILENT,
  response: { responseCode },
  ...changes,
});

const approval = (changes: Partial<Reaction> = {}): Reaction => ({
  ...SILENT,
  response: { responseCode: '00', authorizationCode: UNBOOKED_CODE },
  ...changes,
});

/** Executes the request and responds with one of these codes. */
const butSaying =
  (codes: readonly string[]) =>
  async ({ honest, random }: Occasion) => {
    await honest();
    return saying(pick(random, codes));
  };

const notDoing =
  (codes: readonly string[]) =>
  ({ random }: Occasion) =>
    saying(pick(random, codes));

const honestBut = (change: (reaction: Reaction, occasion: Occasion) => Reaction) => async (occasion: Occasion) =>
  change(await occasion.honest(), occasion);

const delayed = (least: (deadlineMs: number) => number, spreadMs: (deadlineMs: number) => number) =>
  honestBut((reaction, { deadlineMs, random }) => ({
    ...reaction,
    delayMs: reaction.delayMs + least(deadlineMs) + random.next() * spreadMs(deadlineMs),
  }));

const spoilt = (spoil: Spoil) => honestBut((reaction) => ({ ...reaction, spoil }));

const thenLine = (lineFate: ConnectionFate) =>
  honestBut((reaction) => ({ ...reaction, response: undefined, lineFate }));

/** Changes a field that the response should repeat unchanged. */
function distortion(random: Random): (response: IsoMessage) => void {
  const digits = (value: unknown) => otherStan(String(value).padStart(6, '0').slice(-6));
  const change = pick(random, ['stan', 'rrn', 'tid', 'amount', 'currency'] as const);
  return (response) => {
    const value = response[change];
    if (typeof value !== 'string') return;
    const isNumber = /^\d{6,}$/.test(value);
    response[change] = isNumber ? value.slice(0, -6) + digits(value) : [...value].reverse().join('');
  };
}

const onTheWay: readonly Violation[] = [
  { name: 'request lost', isLie: false, commit: () => SILENT },
  { name: 'response lost', isLie: false, commit: honestBut(() => SILENT) },
  {
    name: 'response slow',
    isLie: false,
    commit: delayed(
      (ms) => ms * 0.3,
      (ms) => ms * 0.6,
    ),
  },
  {
    name: 'response late',
    isLie: false,
    commit: delayed(
      (ms) => ms,
      () => 3_000,
    ),
  },
  {
    name: 'response very late',
    isLie: false,
    commit: delayed(
      (ms) => ms + 5_000,
      () => LONG_MS,
    ),
  },
  {
    name: 'response doubled',
    isLie: false,
    commit: honestBut((reaction, { random }) => ({
      ...reaction,
      more: [{ ...reaction, delayMs: reaction.delayMs + random.next() * 2_000 }],
    })),
  },
  {
    name: 'request doubled',
    isLie: false,
    commit: async ({ honest }) => {
      const first = await honest();
      return { ...first, more: [await honest()] };
    },
  },
  {
    name: 'response on another line',
    isLie: false,
    commit: honestBut((reaction) => ({ ...reaction, isElsewhere: true })),
  },
  { name: 'response garbled', isLie: false, weight: COSTS_A_LINE, commit: spoilt('garbage') },
  { name: 'response cut', isLie: false, weight: COSTS_A_LINE, commit: spoilt('disconnect') },
  { name: 'bad MAC', isLie: false, commit: spoilt('badMac') },
  { name: 'line closed', isLie: false, weight: COSTS_A_LINE, commit: thenLine('close') },
  {
    name: 'wrong echo field',
    isLie: false,
    commit: honestBut((reaction, { random }) => ({ ...reaction, distort: distortion(random) })),
  },
  {
    name: 'missing field',
    isLie: false,
    commit: honestBut((reaction, { random }) => {
      const field = pick(random, MISSING);
      return {
        ...reaction,
        distort: (response) => {
          delete response[field];
        },
      };
    }),
  },
  {
    name: 'wrong MTI',
    isLie: false,
    commit: honestBut((reaction, { random }) => {
      const type = pick(random, WRONG_TYPES);
      return {
        ...reaction,
        distort: (response) => {
          response.mti = response.mti.charAt(0) + type;
        },
      };
    }),
  },
];

/** Violations for authorizations, refunds and completions. */
export const AUTHORIZATION_VIOLATIONS: readonly Violation[] = [
  ...onTheWay,
  { name: 'booked, unknown code', isLie: true, commit: butSaying(UNKNOWN) },
  { name: 'booked, declined', isLie: true, commit: butSaying(DECLINES) },
  { name: 'booked, trouble code', isLie: true, commit: butSaying(TROUBLE) },
  { name: 'booked, taken for a duplicate', isLie: true, commit: butSaying(['94']) },
  {
    name: 'booked, PIN asked for',
    isLie: true,
    commit: honestBut((reaction) => ({ ...reaction, response: { responseCode: '', asksForPin: true } })),
  },
  { name: 'not booked, trouble code', isLie: true, commit: notDoing(TROUBLE) },
  { name: 'not booked, unknown code', isLie: true, commit: notDoing(UNKNOWN) },
  { name: 'not booked, approved', isLie: true, commit: () => approval() },
  {
    name: 'booked, declined and then approved',
    isLie: true,
    commit: async ({ honest, random }) => {
      const reaction = await honest();
      return saying(pick(random, DECLINES), { more: [{ ...reaction, delayMs: 100 + random.next() * 3_000 }] });
    },
  },
  {
    name: 'approved and then declined',
    isLie: true,
    commit: honestBut((reaction, { random }) => ({
      ...reaction,
      more: [saying(pick(random, DECLINES), { delayMs: random.next() * 3_000 })],
    })),
  },
  {
    name: 'booked, approved in part',
    isLie: true,
    commit: honestBut((reaction, { amountMinor }) => ({
      ...reaction,
      response: { ...reaction.response, responseCode: '10', amountMinor: Math.floor(amountMinor / 2) },
    })),
  },
  {
    name: 'booked, another amount',
    isLie: true,
    commit: honestBut((reaction, { amountMinor, random }) => ({
      ...reaction,
      response: reaction.response && {
        ...reaction.response,
        amountMinor: amountMinor + 1 + Math.floor(random.next() * 99),
      },
    })),
  },
];

export const REVERSAL_VIOLATIONS: readonly Violation[] = [
  ...onTheWay,
  { name: 'not reversed, acknowledged', isLie: true, commit: () => saying('00') },
  { name: 'not reversed, refused', isLie: true, commit: notDoing(REFUSALS) },
  { name: 'not reversed, trouble code', isLie: true, commit: notDoing(TROUBLE) },
  { name: 'not reversed, not located', isLie: true, commit: notDoing(['25']) },
  { name: 'not reversed, no action taken', isLie: true, commit: notDoing(['21']) },
  { name: 'not reversed, taken for a duplicate', isLie: true, commit: notDoing(['94']) },
  { name: 'reversed, refused', isLie: true, commit: butSaying(REFUSALS) },
  { name: 'reversed, trouble code', isLie: true, commit: butSaying(TROUBLE) },
  { name: 'reversed, not located', isLie: true, commit: butSaying(['25']) },
  { name: 'reversed, unknown code', isLie: true, commit: butSaying(UNKNOWN) },
  { name: 'reversed, taken for a duplicate', isLie: true, commit: butSaying(['94']) },
];

/** An unsolicited response to an earlier request. */
export function unmatchedReaction(random: Random, isReversal: boolean): Reaction {
  const changes = { delayMs: random.next() * LONG_MS, isElsewhere: random.next() < 0.5 };
  if (isReversal) return saying(pick(random, ['00', '00', '25', '21', '94', ...REFUSALS, ...TROUBLE]), changes);
  if (random.next() < 0.4) return approval(changes);
  return saying(pick(random, [...DECLINES, ...TROUBLE, ...UNKNOWN, '94']), changes);
}
