/**
 * `#reader-kit`: everything that a reader format needs and may use. A plug-in imports this and `#schemas/*`, nothing else.
 * `reader-format.ts` states the contract.
 */

export { z } from 'zod';
export { decodeBase64, decodeBase64Url } from '../../codecs/bytes/base64.ts';
export { fromHex, toHex } from '../../codecs/bytes/hex.ts';
export { decryptGcm, encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from '../../codecs/crypto/aes-gcm.ts';
export { BlockKey } from '../../codecs/crypto/block-key.ts';
export { dukptRequestKeys } from '../../codecs/crypto/dukpt-request-keys.ts';
export { encodeTlv, indexTlv, type TlvIndex } from '../../codecs/emv/tlv.ts';
export { defineReader } from './define-reader.ts';
export type * from './reader-format.ts';
export type * from './reader-keys.ts';
export { CardDataRefusal, type CardDataRefusalReason } from './refusal.ts';
