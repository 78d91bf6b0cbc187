import { CardError } from '../../basics/errors/codec-errors.ts';
import type { TlvValues } from './tlv-values.ts';

const CRYPTOGRAM_INFORMATION = 0x9f27;
const APPLICATION_CRYPTOGRAM = 0x9f26;
/** Track 1, track 2, and track 2 under the tag of Mastercard's magstripe mode. */
const TRACKS = [0x56, 0x57, 0x9f6b];

/** The card's decision (EMV Book 3 6.5.5.4): decline, approve offline, or ask the issuer. */
export type CryptogramType = 'AAC' | 'TC' | 'ARQC';

/**
 * The kind of cryptogram that the two top bits of 9F27 announce.
 *
 * @throws {CardError} CRYPTOGRAM_MISSING, CRYPTOGRAM_RFU (the fourth value, or not one byte), MAGSTRIPE_MODE if
 * there is a track but neither 9F27 nor a cryptogram
 */
export function cryptogramType(tap: TlvValues): CryptogramType {
  const information = tap.single(CRYPTOGRAM_INFORMATION);
  if (information === undefined) {
    const magstripe = !tap.has(APPLICATION_CRYPTOGRAM) && TRACKS.some((tag) => tap.has(tag));
    throw new CardError(magstripe ? 'MAGSTRIPE_MODE' : 'CRYPTOGRAM_MISSING');
  }
  const type = information.length === 1 ? TYPES[information[0]! >> 6] : undefined;
  if (type === undefined) throw new CardError('CRYPTOGRAM_RFU');
  return type;
}

/** Indexed by the two top bits of 9F27; 11 is reserved. */
const TYPES: readonly (CryptogramType | undefined)[] = ['AAC', 'TC', 'ARQC', undefined];

/**
 * Whether to ask the issuer: only with an ARQC. An AAC is the card's own decline and is never sent.
 *
 * @throws {CardError} APPROVED_OFFLINE for a TC, which the gateway's contactless terminals must not accept, or as
 * `cryptogramType`
 */
export function decideOnline(tap: TlvValues): 'goOnline' | 'declinedOffline' {
  const type = cryptogramType(tap);
  if (type === 'TC') throw new CardError('APPROVED_OFFLINE');
  return type === 'ARQC' ? 'goOnline' : 'declinedOffline';
}
