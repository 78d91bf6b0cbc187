import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../card/sample-tap.ts';
import { currencyOf } from '../transactions/model/money.ts';
import { PinPad, valuesOfPin } from './pin-pad.ts';

/** The values that a reader read, by tag. */
export type ReadValues = ReadonlyMap<number, Uint8Array>;

/** A reader with test cards, for a phone in a browser page. It seals nothing; the page does. */
export class VirtualReader {
  readonly #pinPad = new PinPad();

  /** The values of one tap. @throws MoneyError for an unknown currency */
  read(card: SampleCardName, amountMinor: number, currency: string): ReadValues {
    return sampleTap({ card, amountMinor, currencyNumeric: currencyOf(currency).numeric, at: new Date() });
  }

  /** The values that a PIN adds to its tap. @param pin 4 to 12 digits */
  enterPin(card: SampleCardName, pin: string): ReadValues {
    return valuesOfPin(this.#pinPad.enter(pin, SAMPLE_CARDS[card].pan));
  }
}
