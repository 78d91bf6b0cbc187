import type { Credential } from '../../src/http/route-facts.ts';
import type { Installation } from '../support/installation.ts';
import type { MerchantName } from '../support/tenants.ts';
import type { Headers, Things } from './things.ts';

/** A request, right in everything: `:names` of the address are filled in from `params`. */
export interface Sent {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Headers;
  readonly body?: unknown;
}

/** For which merchant things are made, and by what key: with every right of its acquirer. */
export interface Maker {
  readonly installation: Installation;
  readonly merchant: MerchantName;
  readonly headers: Headers;
}

export interface Row {
  /** The request about these things. What it reads is what the matrix exchanges for another tenant's. */
  readonly send: (things: Things) => Sent | Promise<Sent>;
  /** Things that one request uses up; with a token of an intent, that is to be shown instead. */
  readonly fresh?: (maker: Maker, kind: Credential) => Promise<Partial<Things>>;
  /** What the first merchant's own list must contain, and nobody else's. */
  readonly lists?: keyof Things;
}

/** A row whose request names what `send` looks at. */
export const row = (send: Row['send'], more: Omit<Row, 'send'> = {}): Row => ({ send, ...more });
