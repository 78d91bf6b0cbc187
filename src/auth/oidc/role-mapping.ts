import { INSTALLATION_OWNER, ROLE_SCOPES, type Role } from '../portal/portal-user.ts';

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
