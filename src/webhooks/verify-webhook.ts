import { isUtf8 } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { Webhook as Signer } from 'standardwebhooks';
import { type Webhook, webhook } from '#schemas/webhook';

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

export type VerifiedWebhook =
  | { readonly isGenuine: true; readonly id: string; readonly event: Webhook }
  | { readonly isGenuine: false; readonly check: WebhookCheck; readonly reason: string };

export interface ReceivedWebhook {
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
  const value = text === undefined ? undefined : parsed(text);
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
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
