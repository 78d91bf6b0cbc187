import { hash } from 'node:crypto';
import { INSTALLATION_OWNER, type PortalUser, ROLE_SCOPES, type Role } from '../portal/portal-user.ts';

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

/** What a value of the role claim gives: a role in the console for one acquirer, or for the installation. */
export interface MappedRole {
  /** A value of the claim, such as the name of a group. */
  readonly value: string;
  readonly role: Role;
  /** 0 for the installation. */
  readonly acquirerId: number;
}

const MAX_ACQUIRER_ID = 2_147_483_647;
/** The value may contain `=` and `@`; the role and the acquirer cannot. */
const ENTRY = /^(.{1,255})=(\w+)(?:@([1-9]\d{0,9}))?$/;

/** @param entry `VALUE=ROLE` or `VALUE=ROLE@ACQUIRER`. @returns undefined if it is neither */
export function readMappedRole(entry: string): MappedRole | undefined {
  const [, value, role, acquirer = String(INSTALLATION_OWNER)] = ENTRY.exec(entry) ?? [];
  const acquirerId = Number(acquirer);
  if (value === undefined || !isRole(role) || acquirerId > MAX_ACQUIRER_ID) return undefined;
  return { value, role, acquirerId };
}

/** Whether any entry gives this role. */
export function isMapped(
  mapping: readonly MappedRole[],
  { role, acquirerId }: { readonly role: string; readonly acquirerId: number },
): boolean {
  return mapping.some((each) => each.role === role && each.acquirerId === acquirerId);
}

function isRole(text: string | undefined): text is Role {
  return text !== undefined && Object.hasOwn(ROLE_SCOPES, text);
}

/**
 * The values of a claim: of one with this name, or else of one inside others (`realm_access.roles`). A single text is one
 * value. Anything else gives no values.
 */
export function valuesOfClaim(claims: object, name: string): readonly string[] {
  const own = memberOf(claims, name) ?? name.split('.').reduce<unknown>(memberOf, claims);
  const values = Array.isArray(own) ? own : [own];
  return values.filter((value) => typeof value === 'string');
}

function memberOf(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
  return (holder as Record<string, unknown>)[name];
}

/** The first entry of the mapping that a person has, because the operator decides the order. Values are case-sensitive. */
export function roleFor(mapping: readonly MappedRole[], values: readonly string[]): MappedRole | undefined {
  return mapping.find(({ value }) => values.includes(value));
}
