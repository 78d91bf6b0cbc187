import { loginNameOf } from './log-in.ts';

/** The domain of the user names that only one acquirer creates. */
export interface LoginDomain {
  readonly acquirerId: number;
  /** The domain as in a mail address, in lower case. */
  readonly domain: string;
}

/** Reads `1=bank.example`. @returns undefined for another form */
export function readLoginDomain(text: string): LoginDomain | undefined {
  const [, acquirer, domain] =
    /^([1-9]\d{0,9})=((?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z][a-z0-9-]{0,62})$/.exec(text) ?? [];
  return acquirer === undefined || domain === undefined ? undefined : { acquirerId: Number(acquirer), domain };
}

/** Whether a name of one domain could be one of the other, for different acquirers. */
export function areShared(one: LoginDomain, other: LoginDomain): boolean {
  return one.acquirerId !== other.acquirerId && (isIn(one.domain, other.domain) || isIn(other.domain, one.domain));
}

/**
 * Why an acquirer may not create a user of this name; undefined if it may. It does not depend on the users of other
 * acquirers, so the response does not reveal them: names are unique in the installation, because a login names no
 * acquirer, and no other acquirer has names in its domains.
 */
export function domainFault(domains: readonly LoginDomain[], acquirerId: number, username: string): string | undefined {
  const domain = /@([^@]*)$/.exec(loginNameOf(username))?.[1];
  const own = domains.filter((each) => each.acquirerId === acquirerId);
  if (own.length > 0)
    return domain !== undefined && own.some((each) => isIn(domain, each.domain))
      ? undefined
      : `must end with ${own.map((each) => `@${each.domain}`).join(' or ')}, or with a subdomain of it`;
  const isForeign = domain !== undefined && domains.some((each) => isIn(domain, each.domain));
  return isForeign ? 'must not be in the domain of another acquirer' : undefined;
}

function isIn(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
