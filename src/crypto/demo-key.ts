import { createHash } from 'node:crypto';
import { Secret } from '../bytes/secret.ts';
import type { KeyUsage } from './hsm.ts';
import type { SoftHsmKey } from './soft-hsm.ts';

/** The base derivation key of demo readers, by the id that gateways know it under unless they are told another. */
export const DEMO_READER_KEY = 'reader-bdk';

/** Two DES keys: what MACs, zone PIN keys and base derivation keys of DUKPT take. */
const KEY_BYTES = 16;

/**
 * The key of that id, for simulated switches, demo readers and the software HSM between them. Anyone can compute it from
 * the id, so it protects nothing: it lets both sides agree without a ceremony.
 */
export function demoKey(keyId: string, usage: KeyUsage): SoftHsmKey {
  const bytes = createHash('sha256').update(`tapwire demo key ${keyId}`).digest().subarray(0, KEY_BYTES);
  return { keyId, usage, algorithm: 'tdes', bytes: new Secret<Uint8Array>(bytes) };
}
