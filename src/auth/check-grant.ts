import { AuthError } from '../errors.ts';
import type { ApiKeyPrincipal } from './api-key.ts';
import { type PortalUser, ROLE_SCOPES } from './portal/portal-user.ts';

/** A caller can grant only scopes that it has. @throws AuthError FORBIDDEN */
export function checkGrant({ scopes: own }: Pick<ApiKeyPrincipal, 'scopes'>, scopes: Iterable<string>): void {
  for (const scope of scopes) if (!own.has(scope)) throw new AuthError('FORBIDDEN', 'scope');
}

/** The scopes of a user by role and by own rights. The creator of the user must have all of them. */
export function scopesOfUser({ role, permissions }: Pick<PortalUser, 'role' | 'permissions'>): string[] {
  return [...ROLE_SCOPES[role], ...permissions.filter((each) => each !== 'createMobileProximityToken')];
}
