import type { Tenant } from '../../transactions/ports/store-ports.ts';
import type { Scope } from '../scopes.ts';

/** What portal users of a role may do. Nothing that configures an installation: that takes an API key. */
export const ROLE_SCOPES = {
  viewer: ['transactions:read'],
  operator: ['transactions:read', 'transactions:refund', 'payments:create'],
  admin: ['transactions:read', 'transactions:refund', 'payments:create', 'devices:manage'],
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

export type Role = keyof typeof ROLE_SCOPES;

/** In the place of an acquirer's id: users of the installation itself, who see all acquirers in the console and own nothing. */
export const INSTALLATION_OWNER = 0;

/** Somebody who logs in, and whom a `usr` claim may name. */
export interface PortalUser {
  /** UUID. */
  readonly id: string;
  readonly username: string;
  /** The acquirer, integrator or merchant that the user belongs to. */
  readonly owner: Tenant;
  readonly role: Role;
  /** Rights beyond the role: scopes, and `createMobileProximityToken`. */
  readonly permissions: readonly string[];
  readonly isBlocked: boolean;
  /** Milliseconds since 1970. Sessions end with the password that they began with. */
  readonly passwordChangedAtMs: number;
}

export interface PortalUsers {
  find(acquirerId: number, id: string): Promise<PortalUser | undefined>;
}

/** By role or by a right of the user's own. */
export function mayUser({ role, permissions }: Pick<PortalUser, 'role' | 'permissions'>, scope: Scope): boolean {
  const byRole: readonly Scope[] = ROLE_SCOPES[role];
  return byRole.includes(scope) || permissions.includes(scope);
}
