import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import type { WorkingKeyUse } from '../../src/kits/processor-kit/processor.ts';

export const OVERLAP_MS = 20_000;
export const USES: readonly WorkingKeyUse[] = ['mac', 'pin'];

/** A key as the switch sees it. */
export interface SwitchKey {
  readonly use: WorkingKeyUse;
  /** `configured` for the first one. */
  readonly name: string;
  readonly announcement: IsoMessage | undefined;
  readonly announcedAtMs: number;
  hasResponded: boolean;
  /** The process that would know of its lost response is dead: only bad MACs can tell. */
  mayStayUnknown: boolean;
  validUntilMs: number;
}

/** Which of two keys that are announced at one moment the switch considers the later one. */
export type Order = 'byAnnouncement' | 'byResponse';

export interface Habits {
  readonly order: Order;
  /**
   * How long the switch keeps a PIN key that the gateway has replaced. A switch may drop it at once: then only a gateway of one
   * process can follow.
   */
  readonly pinOverlapMs: number;
}

/** The keys of a switch, as the switch sees them. */
export class KeysOfSwitch {
  readonly #order: Order;
  readonly #pinOverlapMs: number;
  readonly #nowMs: () => number;
  readonly keys: SwitchKey[] = USES.map((use) => ({
    ...{ use, name: 'configured', announcement: undefined, announcedAtMs: 0 },
    ...{ hasResponded: true, mayStayUnknown: false, validUntilMs: Number.POSITIVE_INFINITY },
  }));

  constructor({ order, pinOverlapMs }: Habits, nowMs: () => number) {
    this.#order = order;
    this.#pinOverlapMs = pinOverlapMs;
    this.#nowMs = nowMs;
  }

  takeResponse(key: SwitchKey, code: string): void {
    if (key.hasResponded) return;
    if (code !== '00') {
      key.validUntilMs = 0;
      return;
    }
    key.hasResponded = true;
    const others = this.keys.filter((other) => other !== key && other.use === key.use);
    const endsAtMs = this.#nowMs() + (key.use === 'pin' ? this.#pinOverlapMs : OVERLAP_MS);
    const isLatest =
      this.#order === 'byResponse' ||
      !others.some((other) => other.hasResponded && other.announcedAtMs > key.announcedAtMs);
    const ending = isLatest
      ? others.filter((other) => this.#order === 'byResponse' || other.announcedAtMs < key.announcedAtMs)
      : [key];
    for (const each of ending) {
      if (each === key || each.hasResponded || key.announcedAtMs - each.announcedAtMs > 5_000)
        each.validUntilMs = Math.min(each.validUntilMs, endsAtMs);
    }
  }

  has(use: WorkingKeyUse, name: string): boolean {
    return this.keys.some((key) => key.use === use && key.name === name && key.validUntilMs > this.#nowMs());
  }

  /** Whether the switch has learned that the gateway has this key: until then its own messages are under an older one. */
  knows(use: WorkingKeyUse, name: string): boolean {
    return this.keys.some((key) => key.use === use && key.name === name && (key.hasResponded || key.mayStayUnknown));
  }
}
