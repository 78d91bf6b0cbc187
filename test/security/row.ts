import type { Credential } from '../../src/http/route-table.ts';
import type { Installation } from '../support/installation.ts';
import type { MerchantName } from '../support/tenants.ts';
import type { Headers, Things } from './things.ts';

/** A valid request: `:names` of the address are filled in from `params`. */
export interface Sent {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Headers;
  readonly body?: unknown;
}

/** The merchant for which things are created, and a key with every permission of its acquirer. */
export interface Maker {
  readonly installation: Installation;
  readonly merchant: MerchantName;
  readonly headers: Headers;
}

export interface Row {
  /** The request about these things. The matrix replaces what it reads with another tenant's. */
  readonly send: (things: Things) => Sent | Promise<Sent>;
  /** Creates things that one request uses up; for a token of an intent, it also returns the token to use. */
  readonly fresh?: (maker: Maker, kind: Credential) => Promise<Partial<Things>>;
  /** What the first merchant's own list must contain, and no other list. */
  readonly lists?: keyof Things;
}

/** A row whose request names the things that `send` reads. */
export const row = (send: Row['send'], more: Omit<Row, 'send'> = {}): Row => ({ send, ...more });
