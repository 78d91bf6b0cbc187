import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SealError } from '../../basics/errors.ts';
import type { KeyRing } from '../../card/key-ring.ts';
import { openBytes, sealBytes } from '../../card/seal-bytes.ts';
import { decodeBase64Url } from '../../codecs/bytes/hex.ts';

/**
 * A sign-in between the click and the callback. It is kept sealed in a cookie of the browser that began it: unknown
 * clients store nothing in the database, any process can finish it, and another browser cannot.
 */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  /** The secret of PKCE (RFC 7636). */
  readonly verifier: string;
  /** Path and query of the console's page that the person came from. */
  readonly returnTo: string;
  readonly startedAtMs: number;
  /** Hash of the secret of the session that this browser has, which ends when the sign-in begins another one. */
  readonly replaces?: string | undefined;
}

/** Time for a person to authenticate. */
export const SIGN_IN_SECONDS = 600;
/** 256 bits, as RFC 7636 7.1 recommends. */
const RANDOM_BYTES = 32;
/** Secrets in cookies are sealed with keys for this purpose only. */
const SEALED_FOR = { purpose: 'console-sign-in', owner: 'browser' } as const;
const MAX_SEALED_CHARS = 2_048;

/** A view of the console: no other site, no path that a browser reads as one (`//`, `/\`), and no request of the page. */
const RETURN_TO = /^\/ops(?:\/(?:transactions|work|cells|account)(?:\/[\w-]{1,64})?)?(?:\?[\w=&%.+:~-]{0,400})?$/;
const DEFAULT_RETURN_TO = '/ops';

const random = z.string().regex(/^[\w-]{43}$/);
const pendingSignIn = z.strictObject({
  state: random,
  nonce: random,
  verifier: random,
  returnTo: z.string().regex(RETURN_TO),
  startedAtMs: z.number(),
  replaces: random.optional(),
});

/** @param returnTo as the browser asks for it; the console's first page replaces any other place */
export function beginSignIn(returnTo: unknown, replaces: string | undefined, nowMs: number): PendingSignIn {
  const fresh = () => randomBytes(RANDOM_BYTES).toString('base64url');
  const isPage = typeof returnTo === 'string' && RETURN_TO.test(returnTo);
  return {
    ...{ state: fresh(), nonce: fresh(), verifier: fresh() },
    returnTo: isPage ? returnTo : DEFAULT_RETURN_TO,
    startedAtMs: nowMs,
    replaces,
  };
}

export interface PendingSignIns {
  /** Seals a started sign-in for the cookie. */
  seal(pending: PendingSignIn): string;
  /** @returns undefined if the text was not sealed here, or has expired */
  open(sealed: string, nowMs: number): PendingSignIn | undefined;
}

export function createPendingSignIns({ webhookSealing: keys }: Pick<KeyRing, 'webhookSealing'>): PendingSignIns {
  return {
    seal: (pending) => sealBytes(keys, SEALED_FOR, Buffer.from(JSON.stringify(pending))).toString('base64url'),
    open(sealed, nowMs) {
      const bytes = sealed.length <= MAX_SEALED_CHARS ? decodeBase64Url(sealed) : undefined;
      const text = bytes && opened(bytes);
      const pending = text === undefined ? undefined : pendingSignIn.safeParse(JSON.parse(text)).data;
      return pending && isCurrent(pending, nowMs) ? pending : undefined;
    },
  };

  function opened(bytes: Uint8Array): string | undefined {
    try {
      return openBytes(keys, SEALED_FOR, bytes).toString();
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }
}

/** Processes on several machines may disagree on the time, so a start in the near future is accepted. */
function isCurrent({ startedAtMs }: PendingSignIn, nowMs: number): boolean {
  return Math.abs(nowMs - startedAtMs) < SIGN_IN_SECONDS * 1_000;
}
