import { SCOPE_NAMES } from '../../schemas/scopes.ts';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import type { Credential, RouteFacts } from '../../src/http/route-table.ts';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import type { Installation } from '../support/installation.ts';
import { post } from '../support/links.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { MERCHANTS, type MerchantName } from '../support/tenants.ts';
import type { Headers, Things } from './things.ts';

/** A credential of a request, and its owner. */
export interface Shown {
  readonly kind: Credential;
  /** For fault messages: `loginToken (viewer)`. */
  readonly name: string;
  readonly headers: Headers;
  readonly owner: 'operator' | Tenant;
  /** Of a login token. */
  readonly role?: Role;
}

/** Further claims of a merchant's backend: every permission that a token can have. */
const CLAIMED = { scope: 'transactions:refund createMobileProximityToken' };
const ROLES: readonly Role[] = ['admin', 'operator', 'viewer'];

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** Every kind of credential of a merchant and of its parents, each with all permissions of its kind. */
export async function credentialsOf(
  installation: Installation,
  merchant: MerchantName,
  { intentToken }: Pick<Things, 'intentToken'>,
): Promise<Shown[]> {
  const keys = await Promise.all(
    keyOwners(merchant).map(async ([kind, owner]) => {
      const headers = { 'x-api-key': await saveApiKey(installation.database, owner, SCOPE_NAMES) };
      return { kind, name: kind, headers, owner };
    }),
  );
  return [...keys, ...(await tokensOf(installation, merchant, intentToken, keys.at(-1)!.headers))];
}

/** Each kind of key of a merchant and of its parents, without one scope. */
export async function keysWithout(installation: Installation, merchant: MerchantName, scope: string): Promise<Shown[]> {
  const scopes = SCOPE_NAMES.filter((each) => each !== scope);
  return Promise.all(
    keyOwners(merchant).map(async ([kind, owner]) => {
      const headers = { 'x-api-key': await saveApiKey(installation.database, owner, scopes) };
      return { kind, name: `${kind} without ${scope}`, headers, owner };
    }),
  );
}

function keyOwners(merchant: MerchantName): [Credential, Shown['owner']][] {
  const { acquirerId, integratorId, id: merchantId } = MERCHANTS[merchant];
  return [
    ['operatorKey', 'operator'],
    ['acquirerKey', { acquirerId }],
    ['integratorKey', { acquirerId, integratorId }],
    ['merchantKey', { acquirerId, integratorId, merchantId }],
  ];
}

async function tokensOf(
  installation: Installation,
  merchant: MerchantName,
  intentToken: string,
  key: Headers,
): Promise<Shown[]> {
  const { acquirerId, integratorId, id: merchantId } = MERCHANTS[merchant];
  const owner = { acquirerId, integratorId, merchantId };
  const backend = await signMerchantToken(installation.profile(merchant), CLAIMED);
  const responseOf = async (path: string, body: unknown, headers: Headers = key) =>
    (await post(installation, path, body, headers)).body as { token: string };
  const session = await responseOf('/refresh/intentSessionToken', { expiryMinutes: 60 });
  const proximity = await responseOf('/mobile/proximity-token', undefined, bearer(backend));
  const named = {
    merchantToken: backend,
    intentToken,
    intentSessionToken: session.token,
    proximityToken: proximity.token,
  };
  const logins = await Promise.all(
    ROLES.map(async (role) => {
      const { username } = await savePortalUser(installation.database, owner, role);
      const { token } = await responseOf('/login', { username, password: PASSWORD }, {});
      return { kind: 'loginToken', name: `loginToken (${role})`, headers: bearer(token), owner, role } as const;
    }),
  );
  const others = Object.entries(named).map(
    ([kind, token]) => ({ kind: kind as Credential, name: kind, headers: bearer(token), owner }) as const,
  );
  return [...others, ...logins];
}

/** The credentials that a route accepts: each one, or a key and a token together. */
export function shownTo(
  { takes, takesBoth }: Pick<RouteFacts, 'takes' | 'takesBoth'>,
  credentials: readonly Shown[],
): Shown[] {
  const taken = credentials.filter(({ kind }) => takes.includes(kind));
  if (!takesBoth) return taken;
  const token = taken.find(({ headers }) => 'authorization' in headers)!;
  const keys = taken.filter(({ headers }) => 'x-api-key' in headers);
  return keys.map((key) => ({
    ...key,
    name: `${key.name} and ${token.name}`,
    headers: { ...key.headers, ...token.headers },
  }));
}
