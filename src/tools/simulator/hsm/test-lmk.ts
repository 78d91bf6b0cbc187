import { LruMap } from '../../../codecs/bytes/lru-map.ts';
import type { BlockKey } from '../../../codecs/crypto/block-key.ts';
import { hasOddParity } from '../../../codecs/crypto/des-parity.ts';
import { openWithKeyBlockLmk, protectWithKeyBlockLmk } from './key-block-lmk.ts';
import { Refusal } from './refusal.ts';
import { openWithVariantLmk, protectWithVariantLmk } from './variant-lmk.ts';

/** A use of keys: the key type code under a variant LMK, the header under a key block LMK. */
export interface SimulatedKeyUse {
  readonly keyType: string;
  /** The first is the usage of new key blocks. */
  readonly usages: readonly [string, ...string[]];
  readonly modeOfUse: string;
}

export const KEY_USES = {
  ZMK: { keyType: '000', usages: ['K0', '52'], modeOfUse: 'B' },
  ZPK: { keyType: '001', usages: ['P0', '72'], modeOfUse: 'B' },
  TPK: { keyType: '002', usages: ['P0', '71'], modeOfUse: 'B' },
  TAK: { keyType: '003', usages: ['M3', 'M1', 'M0'], modeOfUse: 'C' },
  ZAK: { keyType: '008', usages: ['M3', 'M1', 'M0'], modeOfUse: 'C' },
  BDK: { keyType: '009', usages: ['B0'], modeOfUse: 'X' },
} as const satisfies Readonly<Record<string, SimulatedKeyUse>>;

export type LmkForm = 'variant' | 'keyBlock';

/** More than the keys of a test installation. Opening a key takes three times as long as using it. */
const MOST_OPENED = 1_000;

/** The test local master key of the simulated device. Everybody knows it. */
export class TestLmk {
  readonly form: LmkForm;
  /** The same object for the same key, whose ciphers stay open. */
  readonly #opened = new LruMap<string, BlockKey>(MOST_OPENED);

  constructor(form: LmkForm) {
    this.form = form;
  }

  protect(key: BlockKey, { keyType, usages, modeOfUse }: SimulatedKeyUse, usage: string = usages[0]): string {
    if (this.form === 'keyBlock') return protectWithKeyBlockLmk(key, { keyUsage: usage, modeOfUse });
    return protectWithVariantLmk(key, keyType);
  }

  /** @param parityError error code if a byte has even parity: the key is of another type, or under another LMK */
  open(text: string, use: SimulatedKeyUse, parityError: string): BlockKey {
    const name = `${use.keyType} ${use.usages[0]} ${text}`;
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const key = this.#open(text, use, parityError);
    this.#opened.set(name, key);
    return key;
  }

  #open(text: string, { keyType, usages }: SimulatedKeyUse, parityError: string): BlockKey {
    if (this.form === 'keyBlock') return openWithKeyBlockLmk(text, usages);
    if (text.startsWith('S')) throw new Refusal('26');
    const key = openWithVariantLmk(text, keyType);
    if (!key.useBytes(hasOddParity)) throw new Refusal(parityError);
    return key;
  }
}

/** The use with this key type code. @throws Refusal 28 */
export function useOfType(keyType: string): SimulatedKeyUse {
  const use = Object.values(KEY_USES).find((each) => each.keyType === keyType);
  if (use === undefined) throw new Refusal('28');
  return use;
}
