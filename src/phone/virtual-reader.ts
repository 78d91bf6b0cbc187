import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../card/sample-tap.ts';
import { currencyOf } from '../transactions/model/money.ts';
import { PinPad, valuesOfPin } from './pin-pad.ts';

/** What a reader read, by tag. */
export type ReadValues = ReadonlyMap<number, Uint8Array>;

/** A reader with test cards beside it, for a phone that is a page in a browser. It seals nothing: that is the phone's. */
export class VirtualReader {
  readonly #pinPad = new PinPad();

  /** The values of one tap. @throws MoneyError for a currency that there is not */
  read(card: SampleCardName, amountMinor: number, currency: string): ReadValues {
    return sampleTap({ card, amountMinor, currencyNumeric: currencyOf(currency).numeric, at: new Date() });
  }

  /** What a PIN adds to the values of its tap. @param pin 4 to 12 digits */
  enterPin(card: SampleCardName, pin: string): ReadValues {
    return valuesOfPin(this.#pinPad.enter(pin, SAMPLE_CARDS[card].pan));
  }
}
