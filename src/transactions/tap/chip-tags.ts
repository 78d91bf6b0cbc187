import { MAX_DE55_BYTES, writeDe55 } from '../../emv/de55.ts';
import { indexTlv, type TlvIndex, writeTlv } from '../../emv/tlv.ts';
import type { TlvValues } from '../../emv/tlv-values.ts';
import type { TagValue } from '../model/transaction.ts';

/** Kept besides what goes into DE55: names of the application, the card's effective date, the reader's time. */
const ALSO_KEPT = [0x4f, 0x50, 0x5f25, 0x9f12, 0x9f21];
/** Each of them has 16 bytes at most, with tag and length 19 (EMV Book 3 Annex A); a reader that sends more is refused. */
const MAX_KEPT_BYTES = MAX_DE55_BYTES + ALSO_KEPT.length * 19;

/**
 * What of a tap may be kept in clear and shown, as TLV: a tenth of the room that the same takes as JSON, which the
 * database would compress again and again. By allow-list: no track, PAN, name or PIN.
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

/** What was kept, by tag. */
export function indexChipTags(kept: Uint8Array | null): TlvIndex {
  return indexTlv(kept ?? new Uint8Array());
}

/** What was kept, as lists show it. */
export function listChipTags(kept: Uint8Array | null): TagValue[] {
  return indexChipTags(kept).texts();
}
