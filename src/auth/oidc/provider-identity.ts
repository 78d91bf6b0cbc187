import { hash } from 'node:crypto';
import type { PortalUser } from '../portal/portal-user.ts';
import type { MappedRole } from './role-mapping.ts';

/** A person whom the identity provider has authenticated, with the role of this sign-in. */
export interface ProviderIdentity extends Pick<MappedRole, 'role' | 'acquirerId'> {
  readonly issuer: string;
  readonly subject: string;
  /** For display only: the provider, or the person, can change it. */
  readonly name: string;
}

/** The limit of the author in admin events. */
const MAX_ACTOR_CHARS = 255;
/** OpenID Connect Core 1.0, 2: at most 255 ASCII characters. A space would make the record ambiguous. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/;

/**
 * The author as the audit trail names a person of the provider. The issuer is a URL, so it contains no space, and no
 * password user is recorded with this first word.
 */
export function actorOfIdentity({ issuer, subject }: Pick<ProviderIdentity, 'issuer' | 'subject'>): string {
  return `oidc ${issuer} ${subject}`;
}

/** Whether the person can be named in the audit trail in full. */
export function isRecordable(identity: Pick<ProviderIdentity, 'issuer' | 'subject'>): boolean {
  return SUBJECT.test(identity.subject) && actorOfIdentity(identity).length <= MAX_ACTOR_CHARS;
}

/**
 * The id of a person of the provider, where ids of users are UUIDs: always the same for an issuer and subject (RFC 9562
 * 5.8). Names play no part, so no person gets the id of another by a name.
 */
export function idOfIdentity({ issuer, subject }: Pick<ProviderIdentity, 'issuer' | 'subject'>): string {
  const bytes = hash('sha256', JSON.stringify([issuer, subject]), 'buffer').subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The person as a user of the console, for one session. The provider decides who is blocked. */
export function userOfIdentity({ issuer, subject, name, role, acquirerId }: ProviderIdentity): PortalUser {
  return {
    id: idOfIdentity({ issuer, subject }),
    username: name,
    owner: { acquirerId },
    role,
    permissions: [],
    isBlocked: false,
    passwordChangedAtMs: 0,
    hasSecondFactor: false,
    provider: { issuer, subject },
  };
}
