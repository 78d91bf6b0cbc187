import type { Scope } from '#schemas/scopes';
import type { Tenant } from '../../payments/ports/store-ports.ts';

/**
 * Scopes of portal users by role, for the tokens of `POST /login`. None of them configures an installation: that requires
 * an API key or a session of the console.
 */
export const ROLE_SCOPES = {
  viewer: ['transactions:read'],
  operator: ['transactions:read', 'transactions:refund', 'payments:create'],
  admin: ['transactions:read', 'transactions:refund', 'payments:create', 'devices:manage'],
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

/** What an `admin` of an acquirer or of the installation may do besides, in a session of the console. */
const ADMINISTRATION: readonly Scope[] = [
  'webhooks:manage',
  'processors:manage',
  'profiles:manage',
  'tenants:manage',
  'audit:read',
  'credentials:manage',
];

export type Role = keyof typeof ROLE_SCOPES;

/**
 * Replaces the acquirer id for users of the installation itself, who see all acquirers in the console and own
 * nothing.
 */
export const INSTALLATION_OWNER = 0;

/** A person who logs in, and whom a `usr` claim may name. */
export interface PortalUser {
  /** UUID. */
  readonly id: string;
  readonly username: string;
  /** The acquirer, integrator or merchant of the user. */
  readonly owner: Tenant;
  readonly role: Role;
  /** Rights beyond the role: scopes, and `createMobileProximityToken`. */
  readonly permissions: readonly string[];
  readonly isBlocked: boolean;
  /** Milliseconds since 1970. A session ends when the password or the second factor with which it started changes. */
  readonly passwordChangedAtMs: number;
  /** Whether a login also needs a one-time code. */
  readonly hasSecondFactor: boolean;
  /** The identity provider that authenticated a person who has no password here, for one session. */
  readonly provider?: { readonly issuer: string; readonly subject: string } | undefined;
}

export interface PortalUsers {
  find(acquirerId: number, id: string): Promise<PortalUser | undefined>;
}

/** Whether the role or the user's own rights allow it. */
export function mayUser({ role, permissions }: Pick<PortalUser, 'role' | 'permissions'>, scope: Scope): boolean {
  const byRole: readonly Scope[] = ROLE_SCOPES[role];
  return byRole.includes(scope) || permissions.includes(scope);
}

/** Whether any of the scopes administers settings. */
export function includesAdministration(scopes: ReadonlySet<string>): boolean {
  return ADMINISTRATION.some((scope) => scopes.has(scope));
}

/** Whose scopes are determined. Integrator and merchant are null or undefined for a user of an acquirer. */
interface ScopedUser extends Pick<PortalUser, 'role' | 'permissions'> {
  readonly integratorId?: number | null | undefined;
  readonly merchantId?: string | null | undefined;
}

/**
 * The scopes of a user by role and by own rights, also those in a session of the console. The creator of the user must
 * have all of them.
 */
export function scopesOfUser({ role, permissions, integratorId, merchantId }: ScopedUser): string[] {
  const isOfConsole = (integratorId ?? merchantId ?? null) === null;
  const administers = role === 'admin' && isOfConsole ? ADMINISTRATION : [];
  const own = permissions.filter((each) => each !== 'createMobileProximityToken');
  return [...ROLE_SCOPES[role], ...administers, ...own];
}

/**
 * Whether a user must set up a second factor before anything else. Users of integrators and merchants cannot use the
 * console, so they cannot set one up; a provider decides on its own second factor; a viewer without further
 * permissions changes nothing.
 *
 * @param isRequired the setting of the operator
 */
export function createMustEnrol(isRequired: boolean): (user: PortalUser) => boolean {
  return ({ provider, role, permissions, hasSecondFactor, owner: { integratorId, merchantId } }) => {
    const isOfConsole = integratorId === undefined && merchantId === undefined;
    const mayAct = role !== 'viewer' || permissions.length > 0;
    return isRequired && isOfConsole && provider === undefined && mayAct && !hasSecondFactor;
  };
}
