import { readWaysToSignIn } from './ask.js';
import { byId } from './dom.js';

/** Sign-in with an identity provider: its link in the login, and why it failed. */

/** @type {Record<string, string>} */
const REASONS = {
  PROVIDER_UNAVAILABLE:
    'The identity provider does not respond, so signing in with it is impossible at present. Log in with a password if you have one.',
  PROVIDER_REFUSED:
    'The identity provider refused the console. An operator finds the reason in the log of the gateway.',
  CANCELLED: 'The identity provider did not sign you in, or you cancelled the sign-in.',
  NOT_BEGUN: 'The sign-in took too long, or began in another browser. Sign in again.',
  INVALID: 'The sign-in could not be verified. It may have begun in another window. Sign in again.',
  NO_ROLE:
    'You are signed in at the identity provider, but you have no role in this console. Ask your administrator for one, or sign out there and use another account.',
  BAD_SUBJECT: 'The identity provider uses an id for you that the audit trail cannot record. Ask your administrator.',
  DATABASE_UNAVAILABLE: 'The database is unavailable, so signing in is impossible at present.',
  OVERLOADED: 'Too many people are signing in. Try again in a few seconds.',
};

/** Shows the provider's link in the login, if there is one. */
export async function openSignIn() {
  const { provider } = await readWaysToSignIn().catch(() => ({ provider: null }));
  byId('provider').hidden = provider === null;
  byId('provider-link').textContent = `Sign in with ${provider}`;
}

/** After the sign-in, the person continues on the page where it began. */
export function rememberPage() {
  const { pathname, search } = location;
  byId('provider-link').href = `/ops/oidc?${new URLSearchParams({ to: pathname + search })}`;
}

/** @returns why the last sign-in failed; undefined if none did. The address is then that of the page. */
export function takeFailure() {
  const query = new URLSearchParams(location.search);
  const reason = query.get('sign-in');
  if (reason === null) return undefined;
  query.delete('sign-in');
  history.replaceState(null, '', `${location.pathname}${query.size > 0 ? `?${query}` : ''}`);
  return Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
}
