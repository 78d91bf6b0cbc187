import { MAX_DE55_BYTES, writeDe55 } from '../../codecs/emv/de55.ts';
import { indexTlv, type TlvIndex, writeTlv } from '../../codecs/emv/tlv.ts';
import type { TlvValues } from '../../codecs/emv/tlv-values.ts';
import type { TagValue } from '../model/transaction.ts';

/**
 * Tags that are kept in addition to those of DE55: names of the application, the card's effective date, the reader's
 * time.
 */
const ALSO_KEPT = [0x4f, 0x50, 0x5f25, 0x9f12, 0x9f21];
/**
 * Each of them has at most 16 bytes, 19 with tag and length (EMV Book 3 Annex A). If a reader sends more, it is
 * refused.
 */
const MAX_KEPT_BYTES = MAX_DE55_BYTES + ALSO_KEPT.length * 19;

/**
 * The tags of a tap that may be stored and shown in clear, as TLV. JSON would need ten times the space, which the
 * database would compress again and again. An allow-list selects them: no track, PAN, name or PIN.
 *
 * @throws TlvError TOO_LARGE, CONFLICTING_VALUES
 */
export function keepChipTags(chip: TlvValues): Uint8Array {
  const target = Buffer.allocUnsafe(MAX_KEPT_BYTES);
  let end = writeDe55(chip, target.subarray(0, MAX_DE55_BYTES), 0);
  for (const tag of ALSO_KEPT) {
    const value = chip.value(tag);
    if (value !== undefined) end = writeTlv(tag, value, target, end);
  }
  return Uint8Array.prototype.slice.call(target, 0, end);
}

/** The kept tags, indexed. */
export function indexChipTags(kept: Uint8Array | null): TlvIndex {
  return indexTlv(kept ?? new Uint8Array());
}

/** The kept tags in the form that lists show. */
export function listChipTags(kept: Uint8Array | null): TagValue[] {
  return indexChipTags(kept).texts();
}
