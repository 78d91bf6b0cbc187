import type { Mandate } from '../payments/model/link.ts';
import type { KeyRing } from './key-ring.ts';
import { openBytes, sealBytes } from './seal-bytes.ts';

const PURPOSE = 'mandate';

/**
 * Stores mandates encrypted. They name a person and an account, so they are sealed to their link; no search uses
 * them.
 */
export interface MandateVault {
  seal(linkId: string, mandate: Mandate): Uint8Array;
  /** @throws SealError KEY_GONE, SEAL_BROKEN */
  open(linkId: string, sealed: Uint8Array): Mandate;
}

/**
 * Keys are derived separately for each purpose, so the keys that seal the secrets of webhooks can seal mandates,
 * too.
 */
export function createMandateVault({ webhookSealing }: Pick<KeyRing, 'webhookSealing'>): MandateVault {
  return {
    seal: (owner, mandate) =>
      sealBytes(webhookSealing, { purpose: PURPOSE, owner }, Buffer.from(JSON.stringify(mandate))),
    open: (owner, sealed) => JSON.parse(openBytes(webhookSealing, { purpose: PURPOSE, owner }, sealed).toString()),
  };
}
