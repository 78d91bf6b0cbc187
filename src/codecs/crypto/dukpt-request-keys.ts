import type { BlockKey } from './block-key.ts';
import { deriveAesInitialKey, deriveAesTransactionKey, deriveAesWorkingKey } from './dukpt-aes.ts';
import { deriveTdesInitialKey, deriveTdesTransactionKey, deriveTdesWorkingKey } from './dukpt-tdes.ts';
import { keyMac, type MacFunction } from './mac.ts';

/** The keys with which a DUKPT device protects the data of one request. */
export interface DukptRequestKeys {
  /** For CBC with an initialisation vector of zeros, which is safe because the key is used once. */
  readonly data: BlockKey;
  /** ISO 9797-1 algorithm 3 with padding method 2 (TDES), CMAC (AES). */
  readonly mac: MacFunction;
}

/**
 * Derives the data and MAC keys of one request (ANSI X9.24-1:2009 A.4.1, X9.24-3:2017 6.3.2) from the base derivation key.
 * The AES keys are as long as that key.
 *
 * @throws {CryptoError} KEY_LENGTH, KSN
 */
export function dukptRequestKeys(base: BlockKey, ksn: Uint8Array): DukptRequestKeys {
  if (base.algorithm === 'tdes') {
    const transaction = deriveTdesTransactionKey(deriveTdesInitialKey(base, ksn), ksn);
    const mac = keyMac(deriveTdesWorkingKey(transaction, 'macRequest'), { algorithm: 'retail', padding: 2 });
    return { data: deriveTdesWorkingKey(transaction, 'dataRequest'), mac };
  }
  const transaction = deriveAesTransactionKey(deriveAesInitialKey(base, ksn.subarray(0, 8)), ksn);
  const mac = keyMac(deriveAesWorkingKey(transaction, ksn, 'macGeneration'), { algorithm: 'cmac' });
  return { data: deriveAesWorkingKey(transaction, ksn, 'dataEncryption'), mac };
}
