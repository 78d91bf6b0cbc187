import type { WebhookOrigin } from '../model/decision.ts';
import type { TerminalProfile } from '../model/terminal-profile.ts';

/** The time whose commits the database may lack, and what an operator has compared since. */
export interface LostWindow {
  readonly fromMs: number;
  /** When the last gateway stopped that worked with the lost commits, or the present one noticed the restore. */
  readonly untilMs: number;
  readonly holdsAllTaps: boolean;
  /** Merchants whose books were compared: `1 1001`, or `1` for all of an acquirer. */
  readonly released: ReadonlySet<string>;
}

export interface MerchantRecord {
  readonly acquirerId: number;
  readonly id: string;
  readonly integratorId: number;
  readonly name: string;
  readonly street: string;
  readonly city: string;
  readonly country: string;
  readonly mcc: string;
  readonly currency: string;
  readonly timeZone: string;
  readonly feesConfigId: number | null;
  readonly fee: number | null;
}

/** The id of a merchant is unique only within its acquirer. */
export interface MerchantKey {
  readonly acquirerId: number;
  readonly merchantId: string;
}

export interface TerminalRecord {
  readonly xTid: string;
  readonly tid: string;
  readonly mid: string;
  readonly canTakePin: boolean;
  /** The profile of taps whose token names none; null if nothing is restricted. */
  readonly profileName: string | null;
}

/** A rule that assigns taps to a switch; routes are tried by priority, the lowest number first. */
export interface RouteRecord {
  readonly id: number;
  readonly processorId: number;
  readonly priority: number;
  readonly currency: string | null;
  readonly scheme: string | null;
  readonly xTid: string | null;
  /** New taps no longer use the route; earlier transactions still find their switch through it. */
  readonly isRemoved: boolean;
}

/** A portal user of the merchant's acquirer. */
export interface KnownUser {
  /** UUID. */
  readonly id: string;
  readonly isBlocked: boolean;
  /** Whether the user belongs to another merchant, or to another's integrator, and so not to this one. */
  readonly isOfAnother: boolean;
  readonly permissions: readonly string[];
}

/** Configuration by tenant, cached for a few seconds. */
export interface Directory {
  hasIntegrator(acquirerId: number, integratorId: number): boolean;
  merchant(acquirerId: number, merchantId: string): MerchantRecord | undefined;
  /**
   * Finds a terminal that the merchant may use: one that is assigned to it, or one of its acquirer that is assigned to no
   * merchant. Any other merchant's terminal is undefined, like an unknown one: its TID and MID decide who is paid.
   */
  terminal(merchant: MerchantKey, xTid: string): TerminalRecord | undefined;
  terminalProfile(acquirerId: number, name: string): TerminalProfile | undefined;
  routes(acquirerId: number): readonly RouteRecord[];
  isBlockedDevice(acquirerId: number, deviceInstallationId: string): boolean;
  /** Finds a user by id or by username, in any case; a `usr` claim may carry either. Undefined for an unknown user. */
  user(merchant: MerchantRecord, claim: string): KnownUser | undefined;
  /** The id of the endpoint to which an integrator's events are delivered; undefined if none is known yet. */
  webhookEndpoint(acquirerId: number, integratorId: number, serves: WebhookOrigin): string | undefined;
  /** The time whose commits a restored database may lack; undefined unless an operator compares the books now. */
  lostWindow(): LostWindow | undefined;
}

/** The identity under which a tap is submitted. */
export interface Principal {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly userClaim: string | null;
  readonly xTid: string | null;
  /** The terminal profile that the token selects (`spCfg`). */
  readonly profileName: string | null;
  /** The link or intent that the token was issued for; the token gives access to nothing else. */
  readonly consumerId?: string | undefined;
}
