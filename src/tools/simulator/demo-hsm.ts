import { toHex } from '../../codecs/bytes/hex.ts';
import type { KeyUsage } from '../../codecs/crypto/hsm.ts';
import { type KeyShape, keyShapeOf, MAC_ALGORITHMS } from '../../codecs/crypto/mac.ts';
import { DEMO_READER_KEY, demoKey, SoftHsm, type SoftHsmKey } from '../../codecs/crypto/soft-hsm.ts';
import type { HsmKeysFile } from '../../hsm-devices/open-hsm.ts';
import type { SwitchConfig } from '../../kits/processor-kit/index.ts';

/**
 * A software HSM with a demo key for every key that the configurations name.
 *
 * @param environment `dev` or `qa`
 * @throws {CryptoError} SOFT_HSM_FORBIDDEN in any other environment
 */
export function demoHsm(configs: readonly SwitchConfig[], environment: string): SoftHsm {
  return new SoftHsm({ environment, keys: demoKeys(configs) });
}

const TRANSPORT_USAGES = { cryptogram: 'keyEncryption', keyBlock: 'keyBlockProtection' } as const;

/** The keys that the configurations name, each once. */
export function demoKeys(configs: readonly SwitchConfig[]): SoftHsmKey[] {
  const usages = new Map<string, KeyUsage>();
  const shapes = new Map<string, KeyShape>();
  for (const { macKeys = [], macAlgorithm, pinKey, keyExchange } of configs) {
    for (const { keyId } of macKeys) {
      usages.set(keyId, 'mac');
      if (macAlgorithm !== undefined) shapes.set(keyId, keyShapeOf(MAC_ALGORITHMS[macAlgorithm]));
    }
    if (pinKey !== undefined) usages.set(pinKey.keyId, pinKey.derivation === 'dukpt' ? 'dukptBase' : 'pin');
    if (keyExchange !== undefined) usages.set(keyExchange.transportKeyId, TRANSPORT_USAGES[keyExchange.form]);
  }
  return Array.from(usages, ([keyId, usage]) => demoKey(keyId, usage, shapes.get(keyId)));
}

/** The same keys and those of demo readers for HSM_KEYS_FILE, for a gateway between the two. */
export function demoKeysOf(configs: readonly SwitchConfig[]): HsmKeysFile['keys'] {
  const all = [...demoKeys(configs), demoKey(DEMO_READER_KEY, 'dukptBase')];
  return all.map(({ bytes, ...key }) => ({ ...key, key: toHex(bytes.reveal()) }));
}
