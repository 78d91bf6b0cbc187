import { NoConfiguration, TapRefused, TlvError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import { aidOf, kernelIdOf } from '../../codecs/emv/scheme.ts';
import { encodeTlv, indexTlv } from '../../codecs/emv/tlv.ts';
import { joinTlv, type TlvValues } from '../../codecs/emv/tlv-values.ts';
import { fitProfile, type ProfiledTap, type TerminalProfile } from '../model/terminal-profile.ts';
import type { Directory, Principal } from '../ports/directory-ports.ts';
import type { OpenedTap } from '../ports/switch-ports.ts';

const TRANSACTION_TYPE = 0x9c;
/** 5F2A, also where a tap is read. */
export const TRANSACTION_CURRENCY = 0x5f2a;
const TERMINAL_COUNTRY = 0x9f1a;

/** A tap with its terminal profile applied. */
export interface ProfileApplied {
  /** Includes the profile's currency and country if the reader left them out, so that the switch receives them. */
  readonly opened: OpenedTap;
  /** Why the tap may not continue. */
  readonly fault: NoConfiguration | undefined;
}

/**
 * Applies the terminal profile that the token names in `spCfg`, or else the profile of the terminal. Without either,
 * the tap does not change. Only values that the reader left out are added, because the card has signed the others.
 */
export function applyProfile(directory: Directory, principal: Principal, opened: OpenedTap): ProfileApplied {
  const profile = chooseProfile(directory, principal);
  if (profile === undefined) return { opened, fault: undefined };
  if (profile instanceof NoConfiguration) return { opened, fault: profile };
  const given = readProfiled(joinTlv(opened.payment, opened.general));
  const fit = fitProfile(profile, given);
  if (fit.outside !== null) return { opened, fault: new NoConfiguration('OUTSIDE_PROFILE', fit.outside) };
  const added = [
    ...(fit.currency === undefined || given.currency !== undefined
      ? []
      : [[TRANSACTION_CURRENCY, fit.currency] as const]),
    ...(fit.country === undefined || given.country !== undefined ? [] : [[TERMINAL_COUNTRY, fit.country] as const]),
  ];
  return { opened: added.length === 0 ? opened : complete(opened, added), fault: undefined };
}

/** The profile in force: undefined if none is named, NoConfiguration if the named one does not exist. */
export function chooseProfile(
  directory: Directory,
  principal: Pick<Principal, 'acquirerId' | 'merchantId' | 'xTid' | 'profileName'>,
): TerminalProfile | NoConfiguration | undefined {
  const { xTid, profileName } = principal;
  const name = profileName ?? (xTid === null ? null : directory.terminal(principal, xTid)?.profileName);
  if (name == null) return undefined;
  return directory.terminalProfile(principal.acquirerId, name) ?? new NoConfiguration('NO_PROFILE');
}

function readProfiled(chip: TlvValues): ProfiledTap {
  return {
    aid: aidOf(chip),
    kernelId: kernelIdOf(chip),
    transactionType: chip.hex(TRANSACTION_TYPE),
    currency: chip.hex(TRANSACTION_CURRENCY),
    country: chip.hex(TERMINAL_COUNTRY),
  };
}

/** Adds objects to the chip data of a tap, and to its bytes, because a worker may read the tap from them. */
function complete({ payment, bytes }: OpenedTap, added: readonly (readonly [number, string])[]): OpenedTap {
  const objects = encodeTlv(added.map(([tag, value]) => ({ tag, value: fromHex(value) })));
  const whole = Buffer.concat([bytes.general, objects]);
  try {
    return { general: indexTlv(whole), payment, bytes: { general: whole, payment: bytes.payment } };
  } catch (error) {
    if (error instanceof TlvError) throw new TapRefused('/generalCardData', error.code, 'card', { cause: error });
    throw error;
  }
}
