import { createHash } from 'node:crypto';
import { Secret } from '../bytes/secret.ts';
import type { KeyUsage } from './hsm.ts';
import type { KeyShape } from './mac.ts';
import type { SoftHsmKey } from './soft-hsm.ts';

/** Default id of the base derivation key of demo readers in gateways. */
export const DEMO_READER_KEY = 'reader-bdk';

/** Two DES keys: for most MACs, zone PIN keys and base derivation keys of DUKPT. */
const DES_PAIR: KeyShape = { algorithm: 'tdes', lengthBytes: 16 };

/**
 * The key with this id for simulated switches, demo readers and the software HSM between them. Anyone can compute it
 * from the id, so it protects nothing: both sides agree on it without a key ceremony.
 */
export function demoKey(keyId: string, usage: KeyUsage, shape: KeyShape = DES_PAIR): SoftHsmKey {
  const { algorithm, lengthBytes } = shape;
  const bytes = createHash('sha256').update(`tapwire demo key ${keyId}`).digest().subarray(0, lengthBytes);
  return { keyId, usage, algorithm, bytes: new Secret<Uint8Array>(bytes) };
}
