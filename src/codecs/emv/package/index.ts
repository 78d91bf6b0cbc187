/** EMV BER-TLV: parse, encode, explain and mask. */

export { DigitError, TlvError, type TlvErrorCode } from '../../../basics/errors/codec-errors.ts';
export { fromHex, toHex } from '../../bytes/hex.ts';
export { type BitRow, describeBits } from '../bits.ts';
export { type DescribeOptions, describeTlv, type TlvRow, tlvRows } from '../describe-tlv.ts';
export { type DolEntry, parseDol } from '../dol.ts';
export { maskTlv } from '../mask-tlv.ts';
export { type Kernel, mayShow, type TagFacts, tagFacts, tagMeanings, tagName } from '../tags.ts';
export * from '../tlv.ts';
