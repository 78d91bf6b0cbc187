import type { z } from 'zod';
import type { callback, callbackSecret } from '#schemas/webhook';
import { invalidValue, NotFound } from '../errors.ts';
import type { IssuedSecret } from '../webhooks/callback-registry.ts';
import type { RegisteredCallback } from '../webhooks/ports.ts';

/** What a callback looks like from outside (4.10). */
export function callbackOf(registered: RegisteredCallback | undefined): z.output<typeof callback> {
  if (!registered) return { callbackUrl: null };
  const { url, disabledAtMs } = registered;
  return { callbackUrl: url, ...(disabledAtMs !== null && { disabledAt: new Date(disabledAtMs).toISOString() }) };
}

/** @throws NotFound where nothing is registered that a secret could sign for */
export function callbackSecretOf(issued: IssuedSecret | undefined): z.output<typeof callbackSecret> {
  if (!issued) throw new NotFound();
  const { secret, previousUntilMs } = issued;
  const previousValidUntil = previousUntilMs === null ? null : new Date(previousUntilMs).toISOString();
  return { secret: secret.reveal(), previousValidUntil };
}

/** @param fault why, in words; nothing is thrown without one */
export function refuseUrl(fault: string | undefined): void {
  if (fault) throw invalidValue('callbackUrl', fault);
}
