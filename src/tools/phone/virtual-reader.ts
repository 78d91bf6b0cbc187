import { randomInt } from 'node:crypto';
import { READER_TAGS } from '#schemas/card-data';
import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../card/sample-tap.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { takeKey } from '../../codecs/crypto/block-key.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
  TDES_KSN_BYTES,
} from '../../codecs/crypto/dukpt-tdes.ts';
import { encipherPin, parsePin } from '../../codecs/crypto/pin-block.ts';
import { DEMO_READER_KEY, demoKey } from '../../codecs/crypto/soft-hsm.ts';
import { currencyOf } from '../../payments/model/money.ts';
import type { EnteredPin } from '../../payments/ports/switch-ports.ts';

/** The values that a reader read, by tag. */
type ReadValues = ReadonlyMap<number, Uint8Array>;

/** What a virtual tap pays, and where. */
interface VirtualPayment {
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

/** FFFF and a key set id of this project (ANSI X9.24-1:2009 figure 3). */
const KEY_SET = [0xff, 0xff, 0x54, 0x41, 0x50];
/** Ids have 19 bits. */
const DEVICES = 1 << 19;
/** Counters up to this one have at most ten one bits, so a device skips none of them (X9.24-1 A.2). */
const LAST_COUNTER = 1_023;

/**
 * The PIN pad of a demo reader: a TDES DUKPT device with a random id, whose counter begins anywhere, because an
 * installation accepts a key serial number once, and many pads share the demo key. A real one never shows its keys to software.
 */
export class PinPad {
  readonly #base = demoKey(DEMO_READER_KEY, 'dukptBase').bytes;
  #device = randomInt(DEVICES);
  #counter = randomInt(LAST_COUNTER);

  /** Enciphers a PIN as an ISO format 0 block, under a key that is used only once. */
  enter(pin: string, pan: string): EnteredPin {
    const ksn = this.#nextKsn();
    const initial = deriveTdesInitialKey(takeKey('tdes', Uint8Array.from(this.#base.reveal())), ksn);
    const key = deriveTdesWorkingKey(deriveTdesTransactionKey(initial, ksn), 'pin');
    return { block: encipherPin(0, parsePin(pin), pan, key), ksn };
  }

  /** The values of a tap with those that a PIN adds. */
  addTo(values: ReadValues, pin: string): ReadValues {
    const [pan = ''] = toHex(values.get(TRACK_2) ?? new Uint8Array()).split('D', 1);
    return new Map([...values, ...valuesOfPin(this.enter(pin, pan))]);
  }

  /** When the counters of a device are used up, a new device replaces it, so that no key is used twice. */
  #nextKsn(): Uint8Array {
    if (this.#counter === LAST_COUNTER) {
      this.#device = (this.#device + 1) % DEVICES;
      this.#counter = 0;
    }
    this.#counter++;
    const device = [this.#device >> 11, (this.#device >> 3) & 0xff, (this.#device & 0b111) << 5];
    const ksn = new Uint8Array(TDES_KSN_BYTES);
    ksn.set([...KEY_SET, ...device, this.#counter >> 8, this.#counter & 0xff]);
    return ksn;
  }
}

const TRACK_2 = 0x57;
const CVM_RESULTS = 0x9f34;
/** 9F34: enciphered PIN verified online, result unknown until the issuer responds (EMV Book 3 Annex C3). */
const ONLINE_PIN = Uint8Array.of(0x42, 0x03, 0x00);

/** The values that a PIN adds to its tap. */
function valuesOfPin({ block, ksn }: EnteredPin): ReadonlyMap<number, Uint8Array> {
  return new Map([
    [CVM_RESULTS, ONLINE_PIN],
    [READER_TAGS.pinBlock, block],
    [READER_TAGS.ksn, ksn],
  ]);
}
