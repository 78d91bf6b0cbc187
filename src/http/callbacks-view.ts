import type { z } from 'zod';
import type { callback, callbackSecret, secretRotation } from '#schemas/webhook';
import { invalidValue, NotFound } from '../basics/errors.ts';
import type { IssuedSecret } from '../webhooks/callback-registry.ts';
import type { RegisteredCallback, SecretOverlap } from '../webhooks/ports.ts';

/** A callback as the API shows it (4.10). */
export function callbackOf(registered: RegisteredCallback | undefined): z.output<typeof callback> {
  if (!registered) return { callbackUrl: null };
  const { url, disabledAtMs } = registered;
  return { callbackUrl: url, ...(disabledAtMs !== null && { disabledAt: new Date(disabledAtMs).toISOString() }) };
}

export function overlapOf({ overlapHours, isCompromised }: z.output<typeof secretRotation>): SecretOverlap {
  return { overlapSeconds: overlapHours * 3_600, isCompromised };
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
