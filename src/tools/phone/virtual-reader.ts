import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../card/sample-tap.ts';
import { currencyOf } from '../../payments/model/money.ts';
import { PinPad, valuesOfPin } from './pin-pad.ts';

/** The values that a reader read, by tag. */
export type ReadValues = ReadonlyMap<number, Uint8Array>;

/** What a virtual tap pays, and where. */
export interface VirtualPayment {
  readonly amountMinor: number;
  readonly currency: string;
  /** IANA name of the merchant's zone. */
  readonly timeZone: string;
}

/** A reader with test cards, for a phone in a browser page. It seals nothing; the page does. */
export class VirtualReader {
  readonly #pinPad = new PinPad();

  /**
   * The values of one tap. The clock of a reader shows local time (9A, 9F21), which the receipt repeats.
   *
   * @throws MoneyError for an unknown currency
   */
  read(card: SampleCardName, { amountMinor, currency, timeZone }: VirtualPayment): ReadValues {
    const currencyNumeric = currencyOf(currency).numeric;
    return sampleTap({ card, amountMinor, currencyNumeric, at: new Date(), timeZone });
  }

  /** The values that a PIN adds to its tap. @param pin 4 to 12 digits */
  enterPin(card: SampleCardName, pin: string): ReadValues {
    return valuesOfPin(this.#pinPad.enter(pin, SAMPLE_CARDS[card].pan));
  }
}
