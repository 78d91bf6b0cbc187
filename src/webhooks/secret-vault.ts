import { Secret } from '../bytes/secret.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, sealBytes } from '../card/seal-bytes.ts';

const PURPOSE = 'webhook';

/** Stored webhook secrets: sealed to their endpoint with keys for this purpose only. */
export interface SecretVault {
  seal(endpointId: string, secret: Secret<string>): Uint8Array;
  /**
   * @throws {SealError} KEY_GONE if its key is no longer in the ring, SEAL_BROKEN if it was changed or belongs to
   * another endpoint
   */
  open(endpointId: string, sealed: Uint8Array): Secret<string>;
}

export function createSecretVault({ webhookSealing }: Pick<KeyRing, 'webhookSealing'>): SecretVault {
  return {
    seal: (owner, secret) => sealBytes(webhookSealing, { purpose: PURPOSE, owner }, Buffer.from(secret.reveal())),
    open: (owner, sealed) => new Secret(openBytes(webhookSealing, { purpose: PURPOSE, owner }, sealed).toString()),
  };
}
