import { type TapRefusalCode, TapRefused, TlvError } from '../../basics/errors.ts';
import { TransactionType, type TransactionTypeId } from '../model/transaction.ts';
import type { ReadTap } from './read-tap.ts';

const TRANSACTION_TYPE = 0x9c;
const AMOUNT_OTHER = 0x9f03;
const AMOUNT_OTHER_BINARY = 0x9f04;
const AMOUNT_AUTHORISED_BINARY = 0x81;
const CURRENCY_EXPONENT = 0x5f36;
const APPLICATION_CRYPTOGRAM = 0x9f26;
const CRYPTOGRAM_BYTES = 8;

/** 9C contains the first two digits of the processing code (EMV Book 3 Annex A). Only goods and services are sent. */
const PURCHASE = '00';
/** 81 has four bytes. For a larger amount, a terminal sets the highest value. */
const LARGEST_BINARY = 0xffff_ffff;

/**
 * Finds transaction types that a reader announces and no processor can send: every message to a switch is a purchase
 * of one amount. A refund, cash or cashback that was sent as a purchase would take money from the wrong side.
 *
 * Terminal profiles only restrict what is accepted, so this check applies with and without one.
 *
 * @param type a TT3 verifies the card for a mandate and may have an amount of zero
 * @returns the refusal of the tap; undefined if it may continue
 */
export function findUnsupported(tap: ReadTap, type: TransactionTypeId): TapRefused | undefined {
  try {
    return (
      findInTags(tap) ?? (tap.amountMinor === 0 && type !== TransactionType.TT3 ? inGeneral('AMOUNT_ZERO') : undefined)
    );
  } catch (error) {
    if (error instanceof TlvError) return inPayment(error.code);
    throw error;
  }
}

function findInTags({ chip, amountMinor, currency, decision }: ReadTap): TapRefused | undefined {
  const hexOf = (tag: number) => {
    chip.single(tag); // two different values mean nothing
    return chip.hex(tag);
  };
  const kind = hexOf(TRANSACTION_TYPE);
  if (kind === undefined) return inGeneral('TRANSACTION_TYPE_MISSING');
  if (kind !== PURCHASE) return inGeneral('TRANSACTION_TYPE_UNSUPPORTED');
  const others = [hexOf(AMOUNT_OTHER), hexOf(AMOUNT_OTHER_BINARY)];
  if (others.some((hex) => hex !== undefined && !/^0*$/.test(hex))) return inPayment('AMOUNT_OTHER_UNSUPPORTED');
  const binary = hexOf(AMOUNT_AUTHORISED_BINARY);
  const wanted = Math.min(amountMinor, LARGEST_BINARY).toString(16).toUpperCase().padStart(8, '0');
  if (binary !== undefined && binary !== wanted) return inPayment('AMOUNT_CONFLICT');
  const exponent = hexOf(CURRENCY_EXPONENT);
  if (exponent !== undefined && exponent !== `0${currency.exponent}`) return inPayment('CURRENCY_EXPONENT_CONFLICT');
  // 9F27 announces an ARQC; without it the issuer has nothing to verify.
  const cryptogram = chip.value(APPLICATION_CRYPTOGRAM);
  if (decision === 'goOnline' && cryptogram === undefined) return inPayment('ARQC_MISSING');
  if (cryptogram !== undefined && cryptogram.length !== CRYPTOGRAM_BYTES) return inPayment('VALUE_MALFORMED');
  return undefined;
}

function inGeneral(code: TapRefusalCode): TapRefused {
  return new TapRefused('/generalCardData', code, 'request');
}

function inPayment(code: TapRefusalCode): TapRefused {
  return new TapRefused('/paymentCardData', code, 'card');
}
