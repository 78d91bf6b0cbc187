import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, sealBytes } from '../card/seal-bytes.ts';
import { Secret } from '../codecs/bytes/secret.ts';

/** Standard Webhooks 1.0 requires 24 to 64. */
const SECRET_BYTES = 32;
/** Secrets are sealed with keys for this purpose only. */
const PURPOSE = 'webhook';

/** A fresh signing secret, `whsec_` and Base64. */
export function createWebhookSecret(): Secret<string> {
  return new Secret(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}`);
}

/**
 * The headers that authenticate a webhook. It is signed with each secret, so that a receiver may know either
 * (Standard Webhooks 1.0, "Webhook headers").
 *
 * @param atMs time of this attempt, not of the event
 */
export function signWebhook(
  secrets: readonly Secret<string>[],
  { id, body, atMs }: { readonly id: string; readonly body: string; readonly atMs: number },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const at = new Date(atMs);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(atMs / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret.reveal()).sign(id, at, body)).join(' '),
  };
}

/** Stored webhook secrets, each sealed to its endpoint. */
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
