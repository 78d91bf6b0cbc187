import { createHash } from 'node:crypto';
import { toHex } from '../bytes/hex.ts';
import { Secret } from '../bytes/secret.ts';
import type { KeyUsage } from '../crypto/hsm.ts';
import { SoftHsm, type SoftHsmKey } from '../crypto/soft-hsm.ts';
import type { SwitchConfig } from '../processor-kit/index.ts';
import type { HsmKeysFile } from '../switches/open-hsm.ts';

/** Two DES keys: what MACs, zone PIN keys and base derivation keys of DUKPT take. */
const KEY_BYTES = 16;

/**
 * A software HSM that knows every key the configurations name. Anyone can compute these keys from their ids, so they
 * protect nothing: they let both sides of a simulated line agree without a ceremony.
 *
 * @param environment `dev` or `qa`
 * @throws {CryptoError} SOFT_HSM_FORBIDDEN in any other environment
 */
export function demoHsm(configs: readonly SwitchConfig[], environment: string): SoftHsm {
  return new SoftHsm({ environment, keys: demoKeys(configs) });
}

/** The keys that the configurations name, each once. */
export function demoKeys(configs: readonly SwitchConfig[]): SoftHsmKey[] {
  const usages = new Map<string, KeyUsage>();
  for (const { macKeys = [], pinKey } of configs) {
    for (const { keyId } of macKeys) usages.set(keyId, 'mac');
    if (pinKey !== undefined) usages.set(pinKey.keyId, pinKey.derivation === 'dukpt' ? 'dukptBase' : 'pin');
  }
  return Array.from(usages, ([keyId, usage]) => demoKey(keyId, usage));
}

/** The same keys as a file for HSM_KEYS_FILE: what a gateway on the other side of the line starts with. */
export function demoKeysFile(configs: readonly SwitchConfig[]): string {
  const keys = demoKeys(configs).map(({ bytes, ...key }) => ({ ...key, key: toHex(bytes.reveal()) }));
  return `${JSON.stringify({ keys } satisfies HsmKeysFile, null, 2)}\n`;
}

/** The key of that id, for installations that want demo keys in a software HSM of their own. */
export function demoKey(keyId: string, usage: KeyUsage): SoftHsmKey {
  const bytes = createHash('sha256').update(`tapwire demo key ${keyId}`).digest().subarray(0, KEY_BYTES);
  return { keyId, usage, algorithm: 'tdes', bytes: new Secret<Uint8Array>(bytes) };
}
