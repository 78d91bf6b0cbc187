import {
  CardDataError,
  CardError,
  HsmUnavailable,
  NoConfiguration,
  Overloaded,
  TapRefused,
  TlvError,
} from '../../basics/errors.ts';
import { type Card, maskPan, readCard } from '../../codecs/emv/card.ts';
import { decideOnline } from '../../codecs/emv/cryptogram.ts';
import { MAX_DE55_BYTES, writeDe55 } from '../../codecs/emv/de55.ts';
import { schemeOf } from '../../codecs/emv/scheme.ts';
import { indexTlv, type TlvIndex, writeTlv } from '../../codecs/emv/tlv.ts';
import { joinTlv, type TlvValues } from '../../codecs/emv/tlv-values.ts';
import { type Currency, findCurrency } from '../model/money.ts';
import type { TagValue, TapFacts } from '../model/transaction.ts';
import { readPin } from '../pins/read-pin.ts';
import type { Directory, Principal } from '../ports/directory-ports.ts';
import type { SingleUse } from '../ports/store-ports.ts';
import type { CardVault, EnteredPin, OpenedTap, TappedReader, TapRequest } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { chooseProfile, TRANSACTION_CURRENCY } from './apply-profile.ts';

/**
 * Tags that are kept in addition to those of DE55: names of the application, the card's effective date, the reader's
 * time.
 */
const ALSO_KEPT = [0x4f, 0x50, 0x5f25, 0x9f12, 0x9f21];
/**
 * Each of them has at most 16 bytes, 19 with tag and length (EMV Book 3 Annex A). If a reader sends more, it is
 * refused.
 */
const MAX_KEPT_BYTES = MAX_DE55_BYTES + ALSO_KEPT.length * 19;

/**
 * The tags of a tap that may be stored and shown in clear, as TLV. JSON would need ten times the space, which the
 * database would compress again and again. An allow-list selects them: no track, PAN, name or PIN.
 *
 * @throws TlvError TOO_LARGE, CONFLICTING_VALUES
 */
export function keepChipTags(chip: TlvValues): Uint8Array {
  const target = Buffer.allocUnsafe(MAX_KEPT_BYTES);
  let end = writeDe55(chip, target.subarray(0, MAX_DE55_BYTES), 0);
  for (const tag of ALSO_KEPT) {
    const value = chip.value(tag);
    if (value !== undefined) end = writeTlv(tag, value, target, end);
  }
  return Uint8Array.prototype.slice.call(target, 0, end);
}

/** The kept tags, indexed. */
export function indexChipTags(kept: Uint8Array | null): TlvIndex {
  return indexTlv(kept ?? new Uint8Array());
}

/** The kept tags in the form that lists show. */
export function listChipTags(kept: Uint8Array | null): TagValue[] {
  return indexChipTags(kept).texts();
}

/** Tags of the blobs (design: card data). */
const AMOUNT_AUTHORISED = 0x9f02;
export const TRANSACTION_DATE = 0x9a;
export const TRANSACTION_TIME = 0x9f21;
const TRANSACTION_COUNTER = 0x9f36;
const CRYPTOGRAM = 0x9f26;
const READER_ID = 0xdf8a01;
const READER_TRANSACTION_ID = 0xdf8a02;
const LATITUDE = 0xdf8a03;
const LONGITUDE = 0xdf8a04;
/** Texts of the reader are for people. A longer text is refused, because truncating it would change it. */
const MAX_TEXT_BYTES = 64;

/** The values of a tap: its card data, and everything that may be stored or sent. */
export interface ReadTap {
  readonly decision: 'goOnline' | 'declinedOffline';
  readonly card: Card;
  readonly chip: TlvValues;
  readonly amountMinor: number;
  readonly currency: Currency;
  readonly facts: TapFacts;
  /** Undefined if the reader took none. */
  readonly pin: EnteredPin | undefined;
}

export const NO_FACTS: TapFacts = {
  amountMinor: null,
  currency: null,
  readerId: null,
  readerTransactionId: null,
  latitude: null,
  longitude: null,
  scheme: null,
  maskedPan: null,
  chipTags: null,
};

/**
 * Opens the blobs in the format that the terminal profile names.
 *
 * @throws TapRefused if they cannot be opened, the same for every cause; NoConfiguration (NO_READER); Overloaded if the
 * HSM does not respond
 */
export async function openTap(
  { cardData, directory }: TransactionDependencies,
  principal: Principal,
  request: TapRequest,
): Promise<OpenedTap> {
  try {
    return await cardData.open(request, tappedReader(directory, principal));
  } catch (error) {
    if (error instanceof CardDataError) throw new TapRefused('/paymentCardData', error.code, 'card');
    if (error instanceof HsmUnavailable) throw new Overloaded();
    throw error;
  }
}

/** Counts and logs a tap that is refused because its chip data or its PIN block were used before. */
export function reportCopy(
  { cardData, directory }: TransactionDependencies,
  principal: Principal,
  request: TapRequest,
): void {
  cardData.reportCopy(request, tappedReader(directory, principal));
}

function tappedReader(directory: Directory, principal: Principal): TappedReader {
  const profile = chooseProfile(directory, principal);
  // A profile that does not exist is reported with the facts of the tap.
  const reader = profile instanceof NoConfiguration ? undefined : profile?.reader;
  return { acquirerId: principal.acquirerId, merchantId: principal.merchantId, reader };
}

/**
 * Reads an opened tap and refuses taps that must not go online: no amount or currency, no usable card, a card that
 * approved offline or was read as a magnetic stripe.
 *
 * @throws TapRefused with the errorCode of the response and a pointer to the faulty blob
 */
export function readTap({ general, payment }: { general: TlvValues; payment: TlvValues }): ReadTap {
  const chip = joinTlv(payment, general);
  try {
    const { amountMinor, currency } = readAmount(chip);
    const decision = decideOnline(chip);
    const card = readCard(chip);
    const facts: TapFacts = {
      amountMinor,
      currency: currency.code,
      readerId: textOf(general, READER_ID),
      readerTransactionId: textOf(general, READER_TRANSACTION_ID),
      latitude: textOf(general, LATITUDE),
      longitude: textOf(general, LONGITUDE),
      scheme: schemeOf(chip, card.pan) ?? null,
      maskedPan: maskPan(card.pan),
      chipTags: keepChipTags(chip),
    };
    return { decision, card, chip, amountMinor, currency, facts, pin: readPin(payment) };
  } catch (error) {
    if (error instanceof CardError || error instanceof TlvError)
      throw new TapRefused('/paymentCardData', error.code, 'card', { cause: error });
    throw error;
  }
}

/** Amount and currency of an opened tap that is refused; null if they cannot be read. */
export function readableAmount({ general, payment }: OpenedTap): Pick<TapFacts, 'amountMinor' | 'currency'> {
  try {
    const { amountMinor, currency } = readAmount(joinTlv(payment, general));
    return { amountMinor, currency: currency.code };
  } catch {
    return { amountMinor: null, currency: null };
  }
}

/** What no other tap may have again: the same chip data are a copy of this tap. */
export function usesOfTap(vault: CardVault, { card, chip }: ReadTap): readonly SingleUse[] {
  const [date, counter, cryptogram] = [TRANSACTION_DATE, TRANSACTION_COUNTER, CRYPTOGRAM].map((tag) => chip.value(tag));
  return vault.usesOf({ pan: card.pan, date, counter, cryptogram });
}

function readAmount(chip: TlvValues): { amountMinor: number; currency: Currency } {
  const amount = packedDigits(chip, AMOUNT_AUTHORISED, 12);
  if (amount === undefined) throw new TapRefused('/generalCardData', 'AMOUNT_MISSING', 'request');
  // 5F2A is n3 in two bytes, with a leading zero.
  const numeric = packedDigits(chip, TRANSACTION_CURRENCY, 4);
  const currency = numeric?.startsWith('0') ? findCurrency(numeric.slice(1)) : undefined;
  if (!currency) throw new TapRefused('/generalCardData', 'CURRENCY_MISSING', 'request');
  return { amountMinor: Number(amount), currency };
}

function packedDigits(chip: TlvValues, tag: number, digits: number): string | undefined {
  chip.single(tag); // two different amounts are not an amount
  const text = chip.hex(tag);
  return text !== undefined && text.length === digits && /^\d+$/.test(text) ? text : undefined;
}

function textOf(general: TlvValues, tag: number): string | null {
  const value = general.value(tag);
  if (value === undefined) return null;
  if (value.length > MAX_TEXT_BYTES || value.some((byte) => byte < 0x20 || byte > 0x7e)) {
    throw new TapRefused('/generalCardData', 'TEXT_MALFORMED', 'request');
  }
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1');
}
