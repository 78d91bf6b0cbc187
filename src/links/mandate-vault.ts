import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, sealBytes } from '../card/seal-bytes.ts';
import type { Mandate } from '../transactions/model/link.ts';

const PURPOSE = 'mandate';

/** Mandates at rest. They name a person and an account, so they are sealed to their link; nothing searches them. */
export interface MandateVault {
  seal(linkId: string, mandate: Mandate): Uint8Array;
  /** @throws SealError KEY_GONE, SEAL_BROKEN */
  open(linkId: string, sealed: Uint8Array): Mandate;
}

/** Keys are made apart by their purpose, so those that seal webhooks' secrets can seal these, too. */
export function createMandateVault({ webhookSealing }: Pick<KeyRing, 'webhookSealing'>): MandateVault {
  return {
    seal: (owner, mandate) =>
      sealBytes(webhookSealing, { purpose: PURPOSE, owner }, Buffer.from(JSON.stringify(mandate))),
    open: (owner, sealed) => JSON.parse(openBytes(webhookSealing, { purpose: PURPOSE, owner }, sealed).toString()),
  };
}
