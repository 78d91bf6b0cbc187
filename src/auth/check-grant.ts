import { AuthError } from '../errors.ts';
import type { ApiKeyPrincipal } from './api-key.ts';
import { type PortalUser, ROLE_SCOPES } from './portal/portal-user.ts';

/** Nobody gives away what he does not have. @throws AuthError FORBIDDEN */
export function checkGrant({ scopes: own }: Pick<ApiKeyPrincipal, 'scopes'>, scopes: Iterable<string>): void {
  for (const scope of scopes) if (!own.has(scope)) throw new AuthError('FORBIDDEN', 'scope');
}

/** What a user can do by role and by rights of its own: the scopes that whoever makes the user must have. */
export function scopesOfUser({ role, permissions }: Pick<PortalUser, 'role' | 'permissions'>): string[] {
  return [...ROLE_SCOPES[role], ...permissions.filter((each) => each !== 'createMobileProximityToken')];
}
