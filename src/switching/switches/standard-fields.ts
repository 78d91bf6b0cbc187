import { makeRoom } from '../../codecs/bytes/lru-map.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-fields.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { ProviderValues } from '../../payments/model/transaction.ts';
import type { AttemptName } from '../../payments/ports/switch-ports.ts';

/** Fields of every dialect, under any name, as far as a message has them. */
export interface StandardFields {
  /** DE7, MMDDhhmmss. */
  readonly transmissionDateTime: string | undefined;
  /** DE11. */
  readonly stan: string | undefined;
  /** DE15 as MMDD, also where it has a year (YYMMDD in ISO 8583:1993): its date is the nearest one with that day. */
  readonly settlementDate: string | undefined;
  /** DE37. */
  readonly rrn: string | undefined;
  /** DE41. */
  readonly tid: string | undefined;
}

/** Reads data elements by the standard's numbers: the field table maps them to the names of a dialect. */
export function standardFieldReader({ spec }: Pick<Processor, 'spec'>): (message: IsoMessage) => StandardFields {
  const nameOf = (number: number) => spec.fields[number]?.name;
  const names = { at: nameOf(7), stan: nameOf(11), settled: nameOf(15), rrn: nameOf(37), tid: nameOf(41) };
  return (message) => ({
    transmissionDateTime: textOf(message, names.at),
    stan: textOf(message, names.stan),
    settlementDate: textOf(message, names.settled)?.slice(-'MMDD'.length),
    rrn: textOf(message, names.rrn),
    tid: textOf(message, names.tid),
  });
}

/** Reads the card number of a request: DE2, or that of the track in DE35. */
export function cardNumberReader({ spec }: Pick<Processor, 'spec'>): (request: IsoMessage) => string | undefined {
  const names = { pan: spec.fields[2]?.name, track2: spec.fields[35]?.name };
  return (request) => textOf(request, names.pan) ?? textOf(request, names.track2)?.split(/[=D]/)[0];
}

function textOf(message: IsoMessage, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : message[name];
  return typeof value === 'string' ? value : undefined;
}

/** The longest list of the interface (2.6) has nine. */
const MAX_VALUES = 32;
const MAX_CHARS = 255;

/**
 * Makes the values of a plug-in for integrators safe to store and send: only texts, limited in number and length,
 * without control characters or the card number. It never throws, because these values must not affect an outcome.
 */
export function providerValues(tell: () => unknown, cardNumber?: string): ProviderValues {
  const isKept = (text: unknown) => isPlain(text) && !(cardNumber && text.replace(/\D/g, '').includes(cardNumber));
  try {
    const entries = Object.entries(tell() as object).filter((entry) => entry.every(isKept));
    return Object.fromEntries(entries.slice(0, MAX_VALUES));
  } catch {
    return {};
  }
}

function isPlain(text: unknown): text is string {
  return typeof text === 'string' && text.length <= MAX_CHARS && !/\p{Cc}/u.test(text) && text.isWellFormed();
}

/**
 * Limit of remembered approvals. In ordinary traffic it covers minutes, at full speed seconds: a switch that responds
 * to a request twice does so at once.
 */
const MAX_APPROVALS = 8_192;

type Identity = Pick<StandardFields, 'tid' | 'stan' | 'rrn'>;

/**
 * Which requests this process has seen approved lately. A second approval of the same request, which usually follows at
 * once, is found with it. Otherwise the database searches for the request by time, when the response is looked up for the
 * last time: after a restart, on the connection of another process, or when the approval was long ago.
 */
export class RecentApprovals {
  /** Oldest first. */
  readonly #approved = new Map<string, AttemptName>();

  add(identity: Identity, { acquirerId, id, attempt }: AttemptName): void {
    makeRoom(this.#approved, MAX_APPROVALS);
    this.#approved.set(keyOf(identity), { acquirerId, id, attempt });
  }

  find(identity: Identity): AttemptName | undefined {
    return this.#approved.get(keyOf(identity));
  }
}

function keyOf({ tid = '', stan = '', rrn = '' }: Identity): string {
  return `${tid} ${stan} ${rrn}`;
}
