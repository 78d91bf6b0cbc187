import { randomUUID } from 'node:crypto';
import type { CardDataPublicKey } from '#schemas/card-data';
import type { Credentials } from '#schemas/client';
import { type CardDataSealer, createCardDataSealer } from '../../../card/seal-card-data.ts';
import { signMerchantToken } from '../../phone/phone.ts';
import { PinPad } from '../../phone/pin-pad.ts';
import type { Profile } from '../../phone/profile.ts';

/** A phone of a merchant: a token, an ephemeral key for its session with the reader, and its last tap. */
export interface LoadPhone {
  readonly credentials: Credentials;
  readonly deviceInstallationId: string;
  readonly merchant: Profile['merchant'];
  readonly sealer: CardDataSealer;
  readonly pinPad: PinPad;
  lastTransactionId?: string | undefined;
}

export interface FleetOptions {
  readonly issuer: Profile['issuer'];
  readonly merchants: readonly Profile['merchant'][];
  readonly cardDataKey: CardDataPublicKey;
  /** Spread evenly over the merchants. */
  readonly phones: number;
  /** Required lifetime of the tokens. */
  readonly seconds: number;
  /**
   * A terminal whose switch has a short deadline, for taps to which no switch responds; if absent, any other terminal
   * is used.
   */
  readonly shortDeadlineTerminal?: string | undefined;
}

/** Covers clocks that differ, and requests at the very end. */
const TOKEN_MARGIN_SECONDS = 300;
/** Enough that taps without a response do not block each other. */
const SHORT_DEADLINE_PHONES = 8;

/** The phones of one worker process. They are used in rotation. */
export class Fleet {
  readonly #phones: readonly LoadPhone[];
  readonly #shortDeadlinePhones: readonly LoadPhone[];
  /** Phones that have tapped. */
  readonly #used: LoadPhone[] = [];
  #turn = 0;
  #shortDeadlineTurn = 0;

  private constructor(phones: readonly LoadPhone[], shortDeadlinePhones: readonly LoadPhone[]) {
    this.#phones = phones;
    this.#shortDeadlinePhones = shortDeadlinePhones;
  }

  static async create(options: FleetOptions): Promise<Fleet> {
    const { merchants, phones, shortDeadlineTerminal } = options;
    const one = (index: number, claims = {}) =>
      createPhone(options, merchants[index % merchants.length]!, index, claims);
    const ordinary = await Promise.all(Array.from({ length: phones }, (_, index) => one(index)));
    if (shortDeadlineTerminal === undefined) return new Fleet(ordinary, ordinary);
    const claims = { 'x-tid': shortDeadlineTerminal };
    return new Fleet(
      ordinary,
      await Promise.all(Array.from({ length: SHORT_DEADLINE_PHONES }, (_, index) => one(index, claims))),
    );
  }

  next(): LoadPhone {
    return this.#phones[this.#turn++ % this.#phones.length]!;
  }

  /** A phone for a tap to which no switch will respond. */
  nextWithShortDeadline(): LoadPhone {
    return this.#shortDeadlinePhones[this.#shortDeadlineTurn++ % this.#shortDeadlinePhones.length]!;
  }

  /** A phone that has tapped; any phone before the first tap. */
  nextUsed(): LoadPhone {
    return this.#used[this.#turn++ % Math.max(1, this.#used.length)] ?? this.next();
  }

  remember(phone: LoadPhone, transactionId: string): void {
    if (phone.lastTransactionId === undefined) this.#used.push(phone);
    phone.lastTransactionId = transactionId;
  }
}

async function createPhone(
  { issuer, cardDataKey, seconds }: FleetOptions,
  merchant: Profile['merchant'],
  index: number,
  claims: object,
): Promise<LoadPhone> {
  const profile = { url: '', apiKey: '', login: { username: '', password: '' }, merchant, issuer };
  const exp = Math.floor(Date.now() / 1_000) + Math.ceil(seconds) + TOKEN_MARGIN_SECONDS;
  // Each has its own user, so that no two phones share a token.
  const token = await signMerchantToken(profile, { usr: `till-${index}`, exp, ...claims });
  return {
    credentials: { token },
    deviceInstallationId: randomUUID(),
    merchant,
    sealer: createCardDataSealer(cardDataKey, { keepEphemeral: true }),
    pinPad: new PinPad(),
  };
}
