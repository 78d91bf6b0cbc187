import { fromHex, toHex } from '../../codecs/bytes/hex.ts';
import { encodeTlv } from '../../codecs/emv/tlv.ts';
import type { CardTag, SimulatedResponse } from './processor.ts';

/** The cryptogram of a simulated issuer that knows no key of the card. */
const UNSIGNED = '0123456789ABCDEF';

/**
 * What a simulated issuer sends to the card, as hex: tags 91 and 8A, then its scripts. EMV has codes of two characters, as
 * ISO 8583:1987; 91 ends in the code (EMV Book 2, 8.2.1).
 */
export function simulatedCardTags(
  { authenticationData, scripts = [] }: SimulatedResponse,
  responseCode: string,
): CardTag[] {
  const code = new TextEncoder().encode(responseCode);
  // Amex requests a PIN with code 1A, for which its cards have the digits 0013.
  const signedCode = responseCode === '1A' ? Uint8Array.of(0x00, 0x13) : code;
  const signed = authenticationData?.(signedCode);
  return [
    { tag: '91', value: signed === undefined ? UNSIGNED + toHex(signedCode) : toHex(signed) },
    { tag: '8A', value: toHex(code) },
    ...scripts,
  ];
}

/** The same as DE55. */
export function simulatedIccData(response: SimulatedResponse, responseCode: string): Uint8Array {
  const tags = simulatedCardTags(response, responseCode);
  return encodeTlv(tags.map(({ tag, value }) => ({ tag: Number.parseInt(tag, 16), value: fromHex(value) })));
}
