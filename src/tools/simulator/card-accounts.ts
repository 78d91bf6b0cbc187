import { z } from 'zod';
import { maskPan } from '../../codecs/emv/card.ts';
import { currencyOf, formatAmount, parseAmount } from '../../payments/model/money.ts';

/** A file names at most this many cards: they are for tests by hand. */
const MAX_CARDS = 1_000;

const amount = z.string().regex(/^\d{1,10}(\.\d{1,4})?$/, 'an amount such as 500.00');

/** The cards of an issuer, as a file has them. */
export const testCards = z
  .array(
    z.strictObject({
      pan: z.string().regex(/^\d{12,19}$/, '12 to 19 digits'),
      /** ISO 4217, three letters. A payment in another currency is declined with 57. */
      currency: z.string().regex(/^[A-Z]{3}$/, 'a currency such as ZAR'),
      balance: amount,
      /** The largest payment: a larger one is declined with 61. */
      limit: amount.optional(),
      /** Whether a payment above the balance is approved in part (10) instead of declined with 51. */
      isPartial: z.boolean().optional(),
      /** An amount of the table of scenarios: each payment is treated as if it had this amount, such as 10.69. */
      actsLike: amount.optional(),
      /** The response code to each payment, such as 54. */
      responseCode: z
        .string()
        .regex(/^[0-9A-Z]{2}$/, 'two characters')
        .optional(),
    }),
  )
  .max(MAX_CARDS);

export type TestCard = z.infer<typeof testCards>[number];

/** How an issuer decides on a payment. */
export type IssuerDecision =
  | { readonly responseCode: string; readonly approvedMinor?: undefined }
  | { readonly responseCode?: undefined; readonly approvedMinor: number };

/** The account of a test card at its issuer: approvals are held until they are posted, and reversals release them. */
export class CardAccount {
  readonly #card: TestCard;
  #balanceMinor: number;
  #heldMinor = 0;

  /** @throws MoneyError if the currency is unknown, or has fewer decimals than an amount */
  constructor(card: TestCard) {
    this.#card = card;
    this.#balanceMinor = this.#minor(card.balance);
    if (card.limit !== undefined) this.#minor(card.limit);
  }

  /** The amount, in hundredths, that selects the scenario of each payment; undefined if its own amount does. */
  get scenarioAmount(): number | undefined {
    const { actsLike } = this.#card;
    return actsLike === undefined ? undefined : Math.round(Number(actsLike) * 100);
  }

  decide(amountMinor: number, currencyNumeric: string): IssuerDecision {
    const { responseCode, currency, limit, isPartial = false } = this.#card;
    if (responseCode !== undefined) return { responseCode };
    if (currencyOf(currency).numeric !== currencyNumeric) return { responseCode: '57' };
    if (limit !== undefined && amountMinor > this.#minor(limit)) return { responseCode: '61' };
    const availableMinor = this.#balanceMinor - this.#heldMinor;
    if (amountMinor <= availableMinor) return { approvedMinor: amountMinor };
    return isPartial && availableMinor > 0 ? { approvedMinor: availableMinor } : { responseCode: '51' };
  }

  hold(amountMinor: number): void {
    this.#heldMinor += amountMinor;
  }

  release(amountMinor: number): void {
    this.#heldMinor -= amountMinor;
  }

  /** Adds to the balance; a negative amount is taken from it. */
  post(amountMinor: number): void {
    this.#balanceMinor += amountMinor;
  }

  toJSON(): { card: string; currency: string; balance: string; held: string; available: string } {
    const { pan, currency } = this.#card;
    // A refund that is reversed after it was spent leaves less than nothing.
    const format = (minor: number) => `${minor < 0 ? '-' : ''}${formatAmount(Math.abs(minor), currencyOf(currency))}`;
    const [balance, held] = [this.#balanceMinor, this.#heldMinor];
    return {
      card: maskPan(pan),
      currency,
      balance: format(balance),
      held: format(held),
      available: format(balance - held),
    };
  }

  #minor(text: string): number {
    return parseAmount(text, currencyOf(this.#card.currency));
  }
}

/** The accounts of an issuer's cards. A card without an account has no limit: the amount alone selects its response. */
export class CardAccounts {
  readonly #accounts: ReadonlyMap<string, CardAccount>;

  constructor(cards: readonly TestCard[]) {
    this.#accounts = new Map(cards.map((card) => [card.pan, new CardAccount(card)]));
  }

  find(pan: string): CardAccount | undefined {
    return this.#accounts.get(pan);
  }

  toJSON(): CardAccount[] {
    return [...this.#accounts.values()];
  }
}

/** Cards above this limit start again, so that a load test with random PANs cannot fill the memory. */
const MAX_COUNTED_CARDS = 100_000;

/** Consecutive wrong PINs after which the issuer refuses every PIN (75). */
const MAX_TRIES = 3;

/** The issuer's check of PINs: counts wrong ones per card. */
export class PinTries {
  readonly #wrong = new Map<string, number>();

  /** Every card has all its tries again. */
  forget(): void {
    this.#wrong.clear();
  }

  /** The response code for a verified PIN: 00, 55, or 75 from the third wrong PIN on. */
  judge(pan: string, isRight: boolean): string {
    const before = this.#wrong.get(pan) ?? 0;
    if (before >= MAX_TRIES) return '75';
    if (isRight) {
      this.#wrong.delete(pan);
      return '00';
    }
    if (this.#wrong.size >= MAX_COUNTED_CARDS) this.#wrong.clear();
    this.#wrong.set(pan, before + 1);
    return before + 1 >= MAX_TRIES ? '75' : '55';
  }
}
