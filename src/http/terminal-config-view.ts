import type { TerminalConfig } from '#schemas/terminal-profile';
import { findCountry } from '../payments/model/countries.ts';
import { currencyOf, findCurrency } from '../payments/model/money.ts';
import { PROFILE_TAGS, type TerminalProfile } from '../payments/model/terminal-profile.ts';
import type { MerchantRecord, TerminalRecord } from '../payments/ports/directory-ports.ts';

/** Terminal Floor Limit, for kernels without DF8123: 4 bytes, a binary number (EMV Book 3 Annex A). */
const BINARY_FLOOR_LIMIT = '9F1B';

/** The settings that determine how a reader takes cards. */
export interface ConfiguredTerminal {
  readonly merchant: MerchantRecord;
  readonly terminal: TerminalRecord;
  /** Undefined if nothing is restricted. */
  readonly profile: TerminalProfile | undefined;
  readonly cardDataKeysUrl: string;
}

/** A terminal's configuration for a reader. The merchant's settings apply where the profile defines none. */
export function terminalConfigView(configured: ConfiguredTerminal): TerminalConfig {
  const { merchant, terminal, profile, cardDataKeysUrl } = configured;
  const ownCurrency = profile?.terminalCurrencyCode && findCurrency(profile.terminalCurrencyCode);
  const currency = ownCurrency || currencyOf(merchant.currency);
  return {
    profile: profile?.name ?? null,
    xTid: terminal.xTid,
    canTakePin: terminal.canTakePin,
    merchantName: merchant.name,
    merchantCategoryCode: merchant.mcc,
    terminalCurrencyCode: currency.numeric,
    terminalCurrencyExponent: currency.exponent,
    terminalCountryCode: findCountry(merchant.country)?.numeric ?? '',
    floorLimits: profile ? floorLimitsOf(profile) : [],
    overrides: profile?.overrides ?? [],
    cardDataKeysUrl,
  };
}

function floorLimitsOf({ overrides }: TerminalProfile): TerminalConfig['floorLimits'] {
  return overrides.flatMap(({ aid, kernelID, transactionTypeConfigs = [] }) =>
    transactionTypeConfigs.flatMap(({ transactionType, tlvDatabase = [] }) => {
      const find = (wanted: string) => tlvDatabase.find(({ tag }) => tag === wanted)?.value;
      const digits = find(PROFILE_TAGS.floorLimit);
      const binary = find(BINARY_FLOOR_LIMIT);
      if (digits === undefined && binary === undefined) return [];
      const floorLimit = digits === undefined ? Number.parseInt(binary!, 16) : Number(digits);
      return [{ aid, kernelID, transactionType, floorLimit }];
    }),
  );
}
