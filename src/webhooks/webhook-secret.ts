import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Secret } from '../bytes/secret.ts';

/** Standard Webhooks 1.0 requires 24 to 64. */
const SECRET_BYTES = 32;

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
