import type { TerminalProfile } from '../model/terminal-profile.ts';

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

export interface TerminalRecord {
  readonly xTid: string;
  readonly tid: string;
  readonly mid: string;
  readonly canTakePin: boolean;
  /** The profile of taps whose token names none; null: nothing is restricted. */
  readonly profileName: string | null;
}

/** One way to a switch, for taps that fit; tried by priority, the lowest first. */
export interface RouteRecord {
  readonly id: number;
  readonly processorId: number;
  readonly priority: number;
  readonly currency: string | null;
  readonly scheme: string | null;
  readonly xTid: string | null;
  /** No tap goes by it any more; transactions that did still find their switch through it. */
  readonly isRemoved: boolean;
}

/** A portal user of the merchant's acquirer. */
export interface KnownUser {
  /** UUID. */
  readonly id: string;
  readonly isBlocked: boolean;
  /** It belongs to another merchant, or to another's integrator, and has no business with this one. */
  readonly isOfAnother: boolean;
  readonly permissions: readonly string[];
}

/** Configuration by tenant, cached for a few seconds. */
export interface Directory {
  hasIntegrator(acquirerId: number, integratorId: number): boolean;
  merchant(acquirerId: number, merchantId: string): MerchantRecord | undefined;
  terminal(acquirerId: number, xTid: string): TerminalRecord | undefined;
  terminalProfile(acquirerId: number, name: string): TerminalProfile | undefined;
  routes(acquirerId: number): readonly RouteRecord[];
  isBlockedDevice(acquirerId: number, deviceInstallationId: string): boolean;
  /** By our id or by username, in any case: both of which a `usr` claim may carry. Undefined for a user that is not ours. */
  user(merchant: MerchantRecord, claim: string): KnownUser | undefined;
  /** Where an integrator is told of outcomes, by the id of the endpoint; undefined when it does not want to be. */
  webhookEndpoint(acquirerId: number, integratorId: number, serves: WebhookOrigin): string | undefined;
}

/** What an endpoint serves: taps of the SDK, or what came by link or intent. Neither stands in for the other. */
export type WebhookOrigin = 'taps' | 'links';
