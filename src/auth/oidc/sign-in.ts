import { SignInError } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import type { PortalSessions, SessionOrigin } from '../portal/portal-session.ts';
import type { OidcProvider, ProviderIdentity } from './oidc-provider.ts';
import { beginSignIn, type PendingSignIns } from './pending-sign-in.ts';

export interface StartedSignIn {
  /** Address of the sign-in page at the provider. */
  readonly url: string;
  /** The sealed state of the sign-in, for a cookie of the browser. */
  readonly sealed: string;
}

export interface FinishedSignIn {
  /** Secret of the new session, for the cookie. */
  readonly secret: string;
  /** Path of the console. */
  readonly returnTo: string;
}

export const CALLBACK_PATH = '/ops/oidc/callback';

/** A provider that hangs must not collect requests. People sign in a few times a day. */
const SIGN_INS_AT_ONCE = 16;
const SIGN_INS_WAITING = 64;
/** The exchanges of a sign-in may take most of the time for its request. */
const SIGN_INS_WAIT_AT_MOST_MS = 5_000;

/** Sign-in to the console with an OpenID provider, from the click to the session. */
export class SignIns {
  readonly #parts;
  readonly #line = new ConcurrencyLimit({
    atOnce: SIGN_INS_AT_ONCE,
    waitMost: SIGN_INS_WAITING,
    waitAtMostMs: SIGN_INS_WAIT_AT_MOST_MS,
  });

  constructor(parts: {
    readonly provider: OidcProvider;
    readonly pending: PendingSignIns;
    readonly sessions: PortalSessions;
    /** Records a sign-in, once for each state. @returns false for the second time */
    readonly record: (state: string, identity: ProviderIdentity) => Promise<boolean>;
    /** The console as browsers reach it, without a trailing slash. */
    readonly consoleUrl: () => string;
    readonly nowMs: () => number;
  }) {
    this.#parts = parts;
  }

  /** The provider, as a person knows it. */
  get providerName(): string {
    return new URL(this.#parts.provider.issuer).host;
  }

  /**
   * @param current secret of the session of this browser. The navigation back from the provider is one of another site, so
   * its cookie is not sent with it.
   * @throws SignInError PROVIDER_UNAVAILABLE, Overloaded
   */
  start(returnTo: unknown, current: string | undefined): Promise<StartedSignIn> {
    const { provider, pending, sessions, nowMs } = this.#parts;
    const begun = beginSignIn(returnTo, sessions.hashOf(current), nowMs());
    return this.#line.run(async () => ({
      url: await provider.startUrl(begun, this.#redirectUrl()),
      sealed: pending.seal(begun),
    }));
  }

  /**
   * @param sealed what the cookie of the browser contains
   * @param search the query of the callback, as it came
   * @throws SignInError, Overloaded, StoreUnavailable, NotFound if the role is one for an acquirer that does not exist
   */
  finish(sealed: string | undefined, search: string, origin: SessionOrigin): Promise<FinishedSignIn> {
    const { provider, pending, sessions, record, nowMs } = this.#parts;
    const begun = sealed === undefined ? undefined : pending.open(sealed, nowMs());
    if (begun === undefined) throw new SignInError('NOT_BEGUN');
    const callback = new URL(this.#redirectUrl());
    callback.search = search;
    return this.#line.run(async () => {
      const identity = await provider.finish(begun, callback);
      if (!(await record(begun.state, identity))) throw new SignInError('INVALID', 'state was used');
      const secret = await sessions.beginOfIdentity(identity, origin);
      if (begun.replaces !== undefined) await sessions.endByHash(begun.replaces);
      return { secret, returnTo: begun.returnTo };
    });
  }

  /** Where a person ends the session at the provider, too; undefined if that is impossible. */
  endUrl(): Promise<string | undefined> {
    return this.#parts.provider.endUrl(`${this.#parts.consoleUrl()}/ops`);
  }

  #redirectUrl(): string {
    return `${this.#parts.consoleUrl()}${CALLBACK_PATH}`;
  }
}
