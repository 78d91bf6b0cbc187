import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';
import type { Behaviour, DuplicateKey, OriginalKey } from './behaviours.ts';

/** One line in the books: what a request did to the account of a card and a merchant. */
export interface Entry {
  /** The request that was carried out: its number on the wire. */
  readonly request: number;
  readonly message: IsoMessage;
  /** DE32 and DE42 of whom it belongs to. */
  readonly merchant: string;
  /** Positive for a sale. */
  readonly amountMinor: number;
  readonly authorizationCode: string;
  readonly day: number;
  state: 'booked' | 'reversed' | 'declined';
}

/** A response, and the entry that it is about. */
export interface Reply {
  readonly code: string;
  readonly authorizationCode?: string | undefined;
  readonly entry?: number | undefined;
}

/** A message that it has received, with its response. */
export interface Receipt {
  readonly message: IsoMessage;
  readonly request: number;
  readonly day: number;
  readonly reply: Reply;
  /** How often its response was delivered. */
  delivered: number;
}

const REFUND = '20';
const FIRST_AUTHORIZATION_CODE = 700_001;

/**
 * A switch with books of its own, whose rules are those of its behaviour. It knows nothing of the gateway but the messages
 * on the wire.
 */
export class HonestSwitch {
  readonly behaviour: Behaviour;
  readonly entries: Entry[] = [];
  readonly receipts: Receipt[] = [];
  /** Its responses, with their index in the statements of an execution: which entry a client of it may know of. */
  readonly deliveries: { readonly statement: number; readonly entry: number }[] = [];
  day = 1;

  constructor(behaviour: Behaviour) {
    this.behaviour = behaviour;
  }

  copy(): HonestSwitch {
    const copy = new HonestSwitch(this.behaviour);
    copy.entries.push(...this.entries.map((entry) => ({ ...entry })));
    copy.receipts.push(...this.receipts.map((receipt) => ({ ...receipt })));
    copy.deliveries.push(...this.deliveries);
    copy.day = this.day;
    return copy;
  }

  get text(): string {
    const entries = this.entries.map(({ message: _, ...entry }) => entry);
    const receipts = this.receipts.map(({ message: _, ...receipt }) => receipt);
    return JSON.stringify([this.day, entries, receipts, this.deliveries]);
  }

  receiptsOf(request: number): readonly Receipt[] {
    return this.receipts.filter((receipt) => receipt.request === request);
  }

  /** Carries out a message according to its rules. @param trouble the code with which it responds all the same */
  receive(message: IsoMessage, request: number, trouble?: string): Receipt {
    const done = this.#duplicateReply(message) ?? this.#carryOut(message, request);
    const reply = trouble === undefined ? done : { code: trouble, entry: done.entry };
    return this.#note(message, request, reply);
  }

  #note(message: IsoMessage, request: number, reply: Reply): Receipt {
    const receipt = { message, request, day: this.day, reply, delivered: 0 };
    this.receipts.push(receipt);
    return receipt;
  }

  #duplicateReply(message: IsoMessage): Reply | undefined {
    const { duplicatesBy, onDuplicate, comparesReversals = false } = this.behaviour;
    if (duplicatesBy === null || (isReversal(message) && !comparesReversals)) return undefined;
    const key = duplicateKey(message, duplicatesBy);
    const first = this.receipts.find(
      (receipt) =>
        receipt.day === this.day &&
        (comparesReversals || !isReversal(receipt.message)) &&
        duplicateKey(receipt.message, duplicatesBy) === key,
    );
    if (!first) return undefined;
    return onDuplicate === 'says 94' ? { code: '94', entry: first.reply.entry } : first.reply;
  }

  #carryOut(message: IsoMessage, request: number): Reply {
    if (isReversal(message)) return this.#reverse(message);
    const isRefund = String(message.processingCode).startsWith(REFUND);
    const named = isRefund && this.behaviour.refundsNamedSale ? this.#named(message) : undefined;
    const entry = this.entries.length;
    const authorizationCode = String(FIRST_AUTHORIZATION_CODE + entry);
    this.entries.push({
      request,
      message,
      merchant: named?.merchant ?? `${message.acquirerId} ${message.mid}`,
      amountMinor: Number(message.amount) * (isRefund ? -1 : 1),
      authorizationCode,
      day: this.day,
      state: 'booked',
    });
    return { code: '00', authorizationCode, entry };
  }

  #reverse(reversal: IsoMessage): Reply {
    const { onReversed, reversesRefunds } = this.behaviour;
    const entry = this.#named(reversal);
    if (!entry) return { code: '25' };
    if (entry.day < this.day || (entry.amountMinor < 0 && !reversesRefunds)) return { code: '57' };
    if (entry.state !== 'booked') return { code: onReversed };
    entry.state = 'reversed';
    return { code: '00' };
  }

  /** The first entry that a reversal or a refund names. */
  #named(message: IsoMessage): Entry | undefined {
    const by = isReversal(message) ? this.behaviour.originalsBy : '127.11';
    const key = keyOfNamed(message, by);
    return this.entries.find(
      (entry) => entry.message.acquirerId === message.acquirerId && keyOfOriginal(entry.message, by) === key,
    );
  }

  /** The issuer declines what was approved for it. */
  declineLater(index: number): Receipt {
    const entry = this.entries[index]!;
    entry.state = 'declined';
    return this.#note(entry.message, entry.request, { code: '51', entry: index });
  }
}

function isReversal({ mti }: IsoMessage): boolean {
  return mti.startsWith('04');
}

function duplicateKey(message: IsoMessage, by: DuplicateKey): string {
  const { acquirerId, stan, tid, rrn, transmissionDateTime } = message;
  switch (by) {
    case 'DE7, DE11 and DE41':
      return [acquirerId, transmissionDateTime, stan, tid].join(' ');
    case 'DE11 and DE41':
      return [acquirerId, stan, tid].join(' ');
    case 'DE37':
      return [acquirerId, rrn].join(' ');
    case '127.2':
      return [acquirerId, switchData(message).switchKey].join(' ');
    case 'DE90':
      return [acquirerId, keyOfOriginal(message, 'DE90')].join(' ');
  }
}

/** What identifies a request for those that name it later. */
function keyOfOriginal({ stan, tid, rrn, transmissionDateTime, ...message }: IsoMessage, by: OriginalKey): string {
  switch (by) {
    case 'DE90 and DE41':
      return `${stan}${transmissionDateTime} ${tid}`;
    case 'DE90':
      return `${stan}${transmissionDateTime}`;
    case 'DE37':
      return String(rrn);
    case '127.11':
      return String(switchData(message as IsoMessage).switchKey);
    case 'DE11 and DE41':
      return `${stan} ${tid}`;
  }
}

/** The same in a message that names it. */
function keyOfNamed(message: IsoMessage, by: OriginalKey): string {
  const { stan, tid, rrn, originalElements } = message;
  const elements = String(originalElements).slice(4, 20);
  switch (by) {
    case 'DE90 and DE41':
      return `${elements} ${tid}`;
    case 'DE90':
      return elements;
    case 'DE37':
      return String(rrn);
    case '127.11':
      return String(switchData(message).originalKey);
    case 'DE11 and DE41':
      return `${stan} ${tid}`;
  }
}

function switchData({ switchData }: IsoMessage): { readonly switchKey?: string; readonly originalKey?: string } {
  return (switchData ?? {}) as { readonly switchKey?: string; readonly originalKey?: string };
}
