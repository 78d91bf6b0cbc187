import type { Installation } from '../support/installation.ts';
import type { MerchantName } from '../support/tenants.ts';
import { bearer, type Shown } from './credentials.ts';
import type { Row } from './row.ts';
import type { Headers, Things } from './things.ts';

/** A merchant with everything that it has, and the key of its acquirer, with which more is created. */
export interface Owner {
  readonly installation: Installation;
  readonly merchant: MerchantName;
  readonly things: Things;
  readonly acquirerKey: Headers;
}

/**
 * The subject of a request, and its credential: what the request uses up is created again.
 * @param isAllNew false: only what belongs to a token of an intent, which pays once
 */
export async function usable(
  { fresh }: Row,
  { kind, headers }: Pick<Shown, 'kind' | 'headers'>,
  { installation, merchant, things, acquirerKey }: Owner,
  isAllNew = true,
): Promise<{ readonly about: Things; readonly headers: Headers }> {
  if (!fresh || (kind !== 'intentToken' && !isAllNew)) return { about: things, headers };
  const made = await fresh({ installation, merchant, headers: acquirerKey }, kind);
  const token = kind === 'intentToken' ? made.intentToken : undefined;
  return { about: { ...things, ...made }, headers: token === undefined ? headers : bearer(token) };
}
