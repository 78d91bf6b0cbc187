import type { TerminalProfileSettings } from '#schemas/terminal-profile';

/** A profile as an acquirer stored it, in its canonical form: hex in upper case, currencies and countries as digits. */
export interface TerminalProfile extends TerminalProfileSettings {
  readonly name: string;
}

export type KernelOverride = TerminalProfileSettings['overrides'][number];
export type TypeConfig = NonNullable<KernelOverride['transactionTypeConfigs']>[number];
export type TlvEntry = NonNullable<TypeConfig['tlvDatabase']>[number];

/**
 * The data objects of a profile that the gateway interprets: Terminal Country Code, Transaction Currency Code, floor
 * limit.
 */
export const PROFILE_TAGS = { country: '9F1A', currency: '5F2A', floorLimit: 'DF8123' } as const;

/** The values of a tap that a profile checks; undefined if the reader did not send them. */
export interface ProfiledTap {
  /** Upper-case hex. */
  readonly aid: string | undefined;
  /** Id of the kernel, as `kernelIdOf` returns it. */
  readonly kernelId: string | undefined;
  /** 9C, two digits. */
  readonly transactionType: string | undefined;
  /** 5F2A and 9F1A, four digits. */
  readonly currency: string | undefined;
  readonly country: string | undefined;
}

/**
 * The part of the tap that the profile excludes, or the values that the profile sets: 5F2A and 9F1A, four digits
 * each.
 */
export type ProfileFit =
  | { readonly outside: 'application' | 'transactionType' | 'currency' | 'country' }
  | { readonly outside: null; readonly currency: string | undefined; readonly country: string | undefined };

/**
 * Checks whether a profile accepts a tap.
 *
 * There are two levels: applications, then the transaction types of the application that fits. On each level an
 * entry with `remove` excludes something, and entries without it list everything that is accepted. Without such
 * entries, everything else is accepted. An application is an AID with its kernel. The longest AID that the card's
 * AID begins with applies (EMV Book B 3.3.2.5 selects in the same way). If the tap names its kernel, only entries
 * for that kernel apply.
 */
export function fitProfile({ terminalCurrencyCode, overrides }: TerminalProfile, tap: ProfiledTap): ProfileFit {
  const override = findOverride(overrides, tap);
  if (override ? override.remove : isList(overrides)) return { outside: 'application' };
  const types = override?.transactionTypeConfigs ?? [];
  const type = types.find(({ transactionType }) => transactionType === tap.transactionType);
  if (type ? type.remove : isList(types)) return { outside: 'transactionType' };
  const currency = tlvOf(type, PROFILE_TAGS.currency) ?? (terminalCurrencyCode && `0${terminalCurrencyCode}`);
  const country = tlvOf(type, PROFILE_TAGS.country);
  if (differs(tap.currency, currency)) return { outside: 'currency' };
  if (differs(tap.country, country)) return { outside: 'country' };
  return { outside: null, currency, country };
}

function findOverride(
  overrides: readonly KernelOverride[],
  { aid, kernelId }: ProfiledTap,
): KernelOverride | undefined {
  if (aid === undefined) return undefined;
  let best: KernelOverride | undefined;
  for (const override of overrides) {
    const isOfKernel = kernelId === undefined || override.kernelID === kernelId;
    if (!isOfKernel || !aid.startsWith(override.aid)) continue;
    if (best === undefined || override.aid.length > best.aid.length) best = override;
  }
  return best;
}

/** Whether the entries list what is accepted, so that anything else is refused. */
function isList(entries: readonly { readonly remove?: true | undefined }[]): boolean {
  return entries.some(({ remove }) => !remove);
}

function tlvOf(type: TypeConfig | undefined, wanted: string): string | undefined {
  return type?.tlvDatabase?.find(({ tag }) => tag === wanted)?.value;
}

function differs(given: string | undefined, wanted: string | undefined): boolean {
  return given !== undefined && wanted !== undefined && given !== wanted;
}
