import type { z } from 'zod';
import type { callback, callbackSecret } from '#schemas/webhook';
import { invalidValue, NotFound } from '../basics/errors.ts';
import type { IssuedSecret } from '../webhooks/callback-registry.ts';
import type { RegisteredCallback } from '../webhooks/ports.ts';

/** A callback as the API shows it (4.10). */
export function callbackOf(registered: RegisteredCallback | undefined): z.output<typeof callback> {
  if (!registered) return { callbackUrl: null };
  const { url, disabledAtMs } = registered;
  return { callbackUrl: url, ...(disabledAtMs !== null && { disabledAt: new Date(disabledAtMs).toISOString() }) };
}

/** @throws NotFound if no callback is registered whose secret could sign */
export function callbackSecretOf(issued: IssuedSecret | undefined): z.output<typeof callbackSecret> {
  if (!issued) throw new NotFound();
  const { secret, previousEndsAtMs } = issued;
  const previousValidUntil = previousEndsAtMs === null ? null : new Date(previousEndsAtMs).toISOString();
  return { secret: secret.reveal(), previousValidUntil };
}

/** @param fault reason for the refusal; if undefined, nothing is thrown */
export function refuseUrl(fault: string | undefined): void {
  if (fault) throw invalidValue('callbackUrl', fault);
}
