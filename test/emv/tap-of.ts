import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { encodeTlv, indexTlv, type TlvIndex } from '../../src/codecs/emv/tlv.ts';

/** A tag and its value in hex; spaces are ignored. */
export type ChipObject = readonly [tag: number, hex: string];

/** A blob of these objects, indexed. */
export function tapOf(...objects: readonly ChipObject[]): TlvIndex {
  return indexTlv(encodeTlv(objects.map(([tag, hex]) => ({ tag, value: fromHex(hex.replaceAll(' ', '')) }))));
}
