import { closeSync, openSync } from 'node:fs';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';
import { changeFile } from '../../basics/files/change-file.ts';
import { parseJson } from '../../basics/parse-json.ts';
import type { SampleCardName } from '../../card/sample-tap.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import { type CardProfile, ChipCard } from '../simulator/issuer/chip-card.ts';

/** Tags of what the card says. */
const SEQUENCE = 0x5f34;
const AMOUNT_OTHER = 0x9f03;
const ISSUER_DATA = 0x9f10;
const CRYPTOGRAM = 0x9f26;
const COUNTER = 0x9f36;

/** The ATC has two bytes. */
const LAST_COUNTER = 0xffff;
/** The last ATC by name of the card. */
const cardCounters = z.record(z.string(), z.int().min(0).max(LAST_COUNTER));

/** A chip card that computes real cryptograms and counts its transactions. */
export class VirtualCard {
  readonly #card: ChipCard;
  #counter: number;
  #values: ReadonlyMap<number, Uint8Array> = new Map();

  /** @param counter the ATC of the last transaction, at most 65,534 */
  constructor(profile: CardProfile, counter = 0) {
    this.#card = new ChipCard(profile);
    this.#counter = counter;
  }

  get pan(): string {
    return this.#card.profile.pan;
  }

  /** The sample card with the same scheme, for the values that no cryptogram signs. */
  get scheme(): SampleCardName {
    return this.#card.profile.version.split('-', 1)[0] as SampleCardName;
  }

  /** Replaces the card's values in those of a tap, and signs them. */
  sign(values: Map<number, Uint8Array>): void {
    this.#counter++;
    values.set(SEQUENCE, fromHex(this.#card.profile.sequence));
    if (!values.has(AMOUNT_OTHER)) values.set(AMOUNT_OTHER, new Uint8Array(6));
    values.set(ISSUER_DATA, this.#card.sampleIssuerData);
    values.set(COUNTER, Uint8Array.of(this.#counter >> 8, this.#counter & 0xff));
    values.set(CRYPTOGRAM, this.#card.cryptogram({ value: (tag) => values.get(tag) }));
    this.#values = new Map(values);
  }

  /** Whether tag 91 is from the card's issuer, for the last tap; undefined if the response has none. */
  trusts(tags: readonly { readonly tag: string; readonly value: string }[]): boolean | undefined {
    const data = tags.find(({ tag }) => tag === '91')?.value;
    const values = { value: (tag: number) => this.#values.get(tag) };
    return data === undefined ? undefined : this.#card.isFromIssuer(values, fromHex(data));
  }
}

/**
 * The next ATC of a card whose taps are commands: a file keeps the counters, by name. After the last one, the first follows.
 *
 * @throws StartError BAD_CONFIG if the file cannot be changed, or has other content
 */
export async function nextCounter(path: string, name: string): Promise<number> {
  closeSync(openSync(path, 'a', 0o600));
  return changeFile(path, 'the file of card counters', (text) => {
    const { data } = cardCounters.safeParse(parseJson(text || '{}'));
    if (data === undefined)
      throw new StartError('BAD_CONFIG', `${path} does not contain counters. Remove it, and the cards count from 1.`);
    const counter = ((data[name] ?? 0) % LAST_COUNTER) + 1;
    return { text: JSON.stringify({ ...data, [name]: counter }), result: counter };
  });
}
