/**
 * `#reader-kit`: everything that a reader format needs and may use. A plug-in imports this and `#schemas/*`, nothing else.
 * `reader-format.ts` states the contract.
 */

export { z } from 'zod';
export { decodeBase64, decodeBase64Url, fromHex, toHex } from '../../codecs/bytes/hex.ts';
export { decryptGcm, encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from '../../codecs/crypto/aes-gcm.ts';
export { BlockKey } from '../../codecs/crypto/block-key.ts';
export { dukptRequestKeys } from '../../codecs/crypto/dukpt-aes.ts';
export { encodeTlv, indexTlv, type TlvIndex } from '../../codecs/emv/tlv.ts';
export type * from './reader-format.ts';
export type * from './reader-format.ts';
export { CardDataRefusal, type CardDataRefusalReason, defineReader } from './reader-format.ts';
