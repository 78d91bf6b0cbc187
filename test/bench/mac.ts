/**
 * `npm run bench -- mac`: what the MAC of a message costs, and what a reused cipher saves compared with a new one for
 * each message.
 */
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { cbcMac, cmac, keyMac, padMessage } from '../../src/codecs/crypto/mac.ts';
import { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { type BenchReport, measure, ratio, report } from './measure.ts';

/** An authorization with chip data; a network management message is a quarter of it. */
const MESSAGE_BYTES = 256;

const tdesBytes = fromHex('0123456789ABCDEFFEDCBA9876543210');
const aesBytes = fromHex('2B7E151628AED2A6ABF7158809CF4F3C');

export function bench(): BenchReport {
  const message = Uint8Array.from({ length: MESSAGE_BYTES }, (_, position) => position);
  const tdes = new BlockKey('tdes', tdesBytes);
  const aes = new BlockKey('aes', aesBytes);
  const retail = keyMac(tdes, { algorithm: 'retail', padding: 1 });
  const aesCbc = cbcMac(aes, 1);
  const aesCmac = cmac(aes);
  const zeroIv = new Uint8Array(16);
  const hsm = new SoftHsm({
    environment: 'dev',
    keys: [{ keyId: 'mac', usage: 'mac', algorithm: 'aes', bytes: new Secret(aesBytes) }],
  });
  const hsmCmac = hsm.keyMac('mac', { algorithm: 'cmac' });
  const results = measure({
    'retail MAC': () => retail(message),
    'AES-CMAC': () => aesCmac(message),
    'AES-CMAC through the HSM port': () => hsmCmac(message),
    'AES CBC-MAC, open cipher': () => aesCbc(message),
    'AES CBC-MAC, a cipher per message': () => aes.encryptCbc(padMessage(message, 1, 16), zeroIv).subarray(-16),
  });
  const ratios = {
    openCipherVsCipherPerMessage: ratio(results, 'AES CBC-MAC, open cipher', 'AES CBC-MAC, a cipher per message'),
  };
  return report(`MACs of ${MESSAGE_BYTES} bytes`, { results, ratios });
}
