import { hash } from 'node:crypto';
import { READER_TAGS } from '#schemas/card-data';
import { TapRefused } from '../../basics/errors.ts';
import { encodeTlv } from '../../codecs/emv/encode-tlv.ts';
import { indexTlv } from '../../codecs/emv/tlv.ts';
import { joinTlv, type TlvValues } from '../../codecs/emv/tlv-values.ts';
import type { SingleUse } from '../ports/store-ports.ts';
import type { EnteredPin, OpenedTap } from '../ports/switch-ports.ts';

/** One TDES block, or the two AES blocks of format 4 (ISO 9564-1:2017 9.3, 9.4). */
const BLOCK_BYTES: readonly number[] = [8, 16];
/** ANSI X9.24-1 and X9.24-3. */
const KSN_BYTES: readonly number[] = [10, 12];

const CVM_RESULTS = 0x9f34;
/** EMV Book 3 Annex C3: the CVM is in the six low bits; "enciphered PIN verified online". */
const CVM_CODE = 0x3f;
const ONLINE_PIN = 0x02;

/**
 * Reads the PIN block that a reader sealed with a tap. Blocks in the unencrypted blob are ignored.
 *
 * @throws TapRefused if the block has no key serial number, or one of them has an impossible length
 */
export function readPin(payment: TlvValues): EnteredPin | undefined {
  const block = payment.single(READER_TAGS.pinBlock);
  const ksn = payment.single(READER_TAGS.ksn);
  if (block === undefined) return undefined;
  if (ksn === undefined || !BLOCK_BYTES.includes(block.length) || !KSN_BYTES.includes(ksn.length))
    throw new TapRefused('/paymentCardData', 'PIN_MALFORMED', 'card');
  return { block, ksn };
}

/**
 * The key serial number of a PIN block, which no other PIN block under the same base derivation key may have. It is no
 * secret, and is only recorded for a block that the HSM has opened: without the reader's keys, no client can use up the
 * numbers of another device. The beginning keeps PINs together in the index of used values.
 */
export function useOfPin(readerPinKey: string, { ksn }: EnteredPin): SingleUse {
  const digest = hash('sha256', `pin ${readerPinKey} ${Buffer.from(ksn).toString('hex')}`, 'hex');
  return { hash: `ffffff${digest.slice(0, 26)}` };
}

/** Whether the kernel reports that the PIN was entered for online verification by the issuer. */
export function saysOnlinePin(chip: TlvValues): boolean {
  const [rule] = chip.value(CVM_RESULTS) ?? [];
  return rule !== undefined && (rule & CVM_CODE) === ONLINE_PIN;
}

/**
 * The tap as if the reader had sealed the PIN block with it, so that the PIN reaches the process that submits the
 * tap.
 */
export function withPin({ general, payment, bytes }: OpenedTap, { block, ksn }: EnteredPin): OpenedTap {
  const pin = encodeTlv([
    { tag: READER_TAGS.pinBlock, value: block },
    { tag: READER_TAGS.ksn, value: ksn },
  ]);
  const sealed = new Uint8Array(bytes.payment.length + pin.length);
  sealed.set(bytes.payment);
  sealed.set(pin, bytes.payment.length);
  return { general, payment: joinTlv(payment, indexTlv(pin)), bytes: { general: bytes.general, payment: sealed } };
}
