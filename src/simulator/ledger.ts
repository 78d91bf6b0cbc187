/**
 * What the simulated switches approved and reversed: the bank's side of the books. Whoever compares it with what a
 * gateway told its merchants can prove that no money was lost, and none taken twice.
 */
export interface LedgerEntry {
  readonly processor: string;
  /** Names the authorization in the dialect's own terms: what a reversal gives as its original. */
  readonly key: string;
  readonly kind: 'sale' | 'refund';
  readonly stan: string;
  readonly rrn: string;
  readonly tid: string;
  readonly currencyNumeric: string;
  readonly amountMinor: number;
  /** Less than `amountMinor` for a partial approval. */
  readonly approvedMinor: number;
  readonly authorizationCode: string;
  readonly approvedAtMs: number;
  /** `unbooked`: the switch has taken nothing, and has said something about it that is not true. */
  state: 'approved' | 'reversed' | 'unbooked';
  /** Whether it is on its way to the cardholder's account: at once, or when it was completed. */
  isPosted: boolean;
  reversedAtMs: number | undefined;
  /** Reversals that came for it, repeats and unanswered ones too. */
  reversals: number;
  /** Reversals still to be left unanswered. */
  deafFor: number;
  /** Of a switch without good manners: what it said, which need not be what it did. */
  said?: Said;
}

/** What an acquirer was told of one authorization by answers that it can read. Whoever judges its books must know it. */
export interface Said {
  /** Authorizations that came for it; what the switch doubles itself is not counted. */
  received: number;
  /** Approvals that left, and when the last one left on a line that lived on. */
  approvals: number;
  approvedAtMs: number | undefined;
  /** Answers that are neither an approval nor in doubt: declines, requests for a PIN. */
  declines: number;
  /** When a reversal was last acknowledged, or said to concern nothing that the switch knows. */
  acknowledgedAtMs: number | undefined;
  /** Refusals to reverse. */
  refusedReversals: number;
}

/** A reversal of something that the switch does not know: declined, never arrived, or overtaken. */
export interface OrphanReversal {
  readonly processor: string;
  readonly originalKey: string;
  readonly tid: string;
  readonly atMs: number;
}

export type ReversalFate = 'reversed' | 'alreadyReversed' | 'ignored' | 'notFound';

/** About a gigabyte of entries. A ledger that forgot some could prove nothing, so the switch declines above it. */
export const MAX_LEDGER_ENTRIES = 2_000_000;

/** Orphans beyond this are counted and not kept: a loop of them must not fill the memory. */
const MAX_ORPHANS = 100_000;

export type NewEntry = Omit<LedgerEntry, 'state' | 'isPosted' | 'reversedAtMs' | 'reversals' | 'deafFor' | 'said'>;

export class Ledger {
  readonly #entries = new Map<string, LedgerEntry>();
  readonly #orphans: OrphanReversal[] = [];
  readonly #misdeeds = new Map<string, number>();
  #orphanCount = 0;

  get isFull(): boolean {
    return this.#entries.size >= MAX_LEDGER_ENTRIES;
  }

  find(processor: string, key: string): LedgerEntry | undefined {
    return this.#entries.get(ledgerKey(processor, key));
  }

  approve(
    entry: NewEntry,
    { deafFor = 0, isPosted = true }: { readonly deafFor?: number; readonly isPosted?: boolean } = {},
  ): void {
    const state = { state: 'approved', isPosted, reversedAtMs: undefined, reversals: 0, deafFor } as const;
    const said = this.find(entry.processor, entry.key)?.said;
    this.#entries.set(ledgerKey(entry.processor, entry.key), { ...entry, ...state, ...(said && { said }) });
  }

  /** What was said of an authorization, to be added to; one that was not booked gets an entry that says so. */
  saidOf(unbooked: NewEntry): Said {
    let entry = this.find(unbooked.processor, unbooked.key);
    if (entry === undefined) {
      this.approve(unbooked, { isPosted: false });
      entry = this.find(unbooked.processor, unbooked.key)!;
      entry.state = 'unbooked';
    }
    entry.said ??= {
      ...{ received: 0, approvals: 0, approvedAtMs: undefined, declines: 0 },
      ...{ acknowledgedAtMs: undefined, refusedReversals: 0 },
    };
    return entry.said;
  }

  countMisdeed(name: string): void {
    this.#misdeeds.set(name, (this.#misdeeds.get(name) ?? 0) + 1);
  }

  /** Posts what was approved; false when there is nothing, or nothing any more. */
  complete(processor: string, originalKey: string): boolean {
    const entry = this.find(processor, originalKey);
    if (entry?.state !== 'approved') return false;
    entry.isPosted = true;
    return true;
  }

  /** Books a reversal. `ignored` leaves the money where it is: the switch plays deaf. */
  reverse(processor: string, originalKey: string, tid: string, atMs: number): ReversalFate {
    const entry = this.find(processor, originalKey);
    if (entry === undefined || entry.state === 'unbooked') {
      this.#orphanCount++;
      if (this.#orphans.length < MAX_ORPHANS) this.#orphans.push({ processor, originalKey, tid, atMs });
      return 'notFound';
    }
    entry.reversals++;
    if (entry.deafFor > 0) {
      entry.deafFor--;
      return 'ignored';
    }
    if (entry.state === 'reversed') return 'alreadyReversed';
    entry.state = 'reversed';
    entry.reversedAtMs = atMs;
    return 'reversed';
  }

  entries(): IterableIterator<LedgerEntry> {
    return this.#entries.values();
  }

  get orphans(): readonly OrphanReversal[] {
    return this.#orphans;
  }

  totals(): LedgerTotals {
    const orphanReversals = this.#orphanCount;
    const misdeeds = this.#misdeeds.size > 0 ? { misdeeds: Object.fromEntries(this.#misdeeds) } : {};
    const totals = {
      ...misdeeds,
      approved: 0,
      approvedMinor: 0,
      posted: 0,
      postedMinor: 0,
      reversed: 0,
      reversedMinor: 0,
      orphanReversals,
    };
    for (const { state, isPosted, approvedMinor } of this.#entries.values()) {
      if (state === 'approved' && isPosted) {
        totals.posted++;
        totals.postedMinor += approvedMinor;
      }
      if (state === 'approved') {
        totals.approved++;
        totals.approvedMinor += approvedMinor;
      } else if (state === 'reversed') {
        totals.reversed++;
        totals.reversedMinor += approvedMinor;
      }
    }
    return totals;
  }
}

/** `approved` are standing: what was reversed counts only under `reversed`. Minor units of all currencies together. */
export interface LedgerTotals {
  readonly approved: number;
  readonly approvedMinor: number;
  /** Of those that stand: all but the ones whose completion has not come yet. */
  readonly posted: number;
  readonly postedMinor: number;
  readonly reversed: number;
  readonly reversedMinor: number;
  readonly orphanReversals: number;
  /** Of switches without good manners: how often each did what. */
  readonly misdeeds?: Readonly<Record<string, number>>;
}

function ledgerKey(processor: string, key: string): string {
  return `${processor}|${key}`;
}
