import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { Webhook as Signer } from 'standardwebhooks';
import { type Webhook, webhook } from '#schemas/webhook';
import { parseJson } from '../basics/parse-json.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, sealBytes } from '../card/seal-bytes.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import { isSameMac } from '../codecs/crypto/mac.ts';

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
    'webhook-signature': secrets.map((secret) => new Signer(secret.reveal()).sign(id, at, body)).join(' '),
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

/** The checks in their order; the first that fails is reported. */
type WebhookCheck = keyof typeof WEBHOOK_CHECKS;

const WEBHOOK_CHECKS = {
  secret: 'the secret is not whsec_ followed by Base64',
  headers: 'webhook-id, webhook-timestamp or webhook-signature is missing',
  timestamp: 'webhook-timestamp is not a number of seconds',
  age: 'webhook-timestamp is more than five minutes from now: a replayed webhook, or a wrong clock',
  rawBody:
    'the signature is that of the same JSON in other bytes: verify the raw body, not one that was parsed and written again',
  signature: 'no signature matches: the secret or the body differs from the one that was sent',
  payload: 'the signature is right, but the body is not a Tapwire webhook',
} as const;

type VerifiedWebhook =
  | { readonly isGenuine: true; readonly id: string; readonly event: Webhook }
  | { readonly isGenuine: false; readonly check: WebhookCheck; readonly reason: string };

interface ReceivedWebhook {
  /** The headers as received, with names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw body, before any JSON parser. */
  readonly body: Uint8Array;
}

/** The default of the Standard Webhooks libraries. */
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a webhook as a receiver must before it uses the content (Standard Webhooks 1.0, "Verifying signatures"). A
 * genuine one may still be a repeat, which has the same `id`.
 *
 * @param secret `whsec_…`
 * @param nowMs milliseconds since 1970 on the receiver's clock
 */
export function verifyWebhook(secret: string, { headers, body }: ReceivedWebhook, nowMs = Date.now()): VerifiedWebhook {
  const signer = signerOf(secret);
  if (!signer) return refused('secret');
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    return refused('headers');
  if (!/^\d{1,12}$/.test(timestamp)) return refused('timestamp');
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) return refused('age');
  const isSigned = (text: string) => includes(signatures, signer.sign(id, new Date(Number(timestamp) * 1_000), text));
  const text = isUtf8(body) ? Buffer.from(body).toString() : undefined;
  const value = text === undefined ? undefined : parseJson(text);
  if (text === undefined || !isSigned(text)) {
    // The gateway writes JSON without spaces. If this text is signed, only the formatting was changed on the way.
    return refused(value !== undefined && isSigned(JSON.stringify(value)) ? 'rawBody' : 'signature');
  }
  const event = webhook.safeParse(value);
  return event.success ? { isGenuine: true, id, event: event.data } : refused('payload');
}

function refused(check: WebhookCheck): VerifiedWebhook {
  return { isGenuine: false, check, reason: WEBHOOK_CHECKS[check] };
}

function signerOf(secret: string): Signer | undefined {
  if (!secret.startsWith('whsec_')) return undefined;
  try {
    return new Signer(secret);
  } catch {
    return undefined;
  }
}

/** There are several signatures while a secret is rotated; those of other versions are ignored. */
function includes(signatures: string, expected: string): boolean {
  const wanted = Buffer.from(expected);
  return signatures.split(' ').some((signature) => isSameMac(wanted, Buffer.from(signature)));
}
