import { hash } from 'node:crypto';
import { READER_TAGS } from '#schemas/card-data';
import { indexTlv, type TlvIndex } from '../../codecs/emv/tlv.ts';
import {
  CardDataRefusal,
  type OpenContext,
  type ReaderFormat,
  type RequestBinding,
  type SealedBlobs,
  type TapBinding,
} from './reader-format.ts';

/** Both blobs of a tap, opened and indexed. */
export interface OpenedBlobs {
  readonly general: TlvIndex;
  readonly payment: TlvIndex;
  readonly bytes: { readonly general: Uint8Array; readonly payment: Uint8Array };
}

/**
 * Opens the blobs of a tap with its reader's format, and checks what holds for every format: the reader sealed them for
 * the device, the reference and the merchant of the request, and both blobs are of one tap.
 *
 * @throws CardDataRefusal, TlvError; what the keys throw
 */
export async function openBlobs<Settings>(
  format: ReaderFormat<Settings>,
  blobs: SealedBlobs,
  context: OpenContext<Settings>,
): Promise<OpenedBlobs> {
  const { payment, boundTo } = await format.open(blobs, context);
  checkBinding(boundTo, context.binding);
  return joinBlobs(blobs.general, payment, { needsDigest: true });
}

function checkBinding({ merchant, ...boundTo }: TapBinding, binding: RequestBinding): void {
  if (boundTo.deviceInstallationId !== binding.deviceInstallationId) throw new CardDataRefusal('other-device');
  if (boundTo.merchantReference !== binding.merchantReference) throw new CardDataRefusal('other-reference');
  if (merchant === undefined) return;
  if (merchant.acquirerId !== binding.merchant.acquirerId) throw new CardDataRefusal('other-acquirer');
  if (merchant.merchantId !== binding.merchant.merchantId) throw new CardDataRefusal('other-merchant');
}

/**
 * Checks that the sealed blob vouches for the general one: with a digest of it, and with equal values of every tag that both have.
 *
 * @param options.needsDigest false for TLV that was typed by hand, where a digest proves nothing
 * @throws CardDataRefusal, TlvError
 */
export function joinBlobs(
  generalBytes: Uint8Array,
  paymentBytes: Uint8Array,
  { needsDigest }: { readonly needsDigest: boolean },
): OpenedBlobs {
  const general = indexTlv(generalBytes);
  const payment = indexTlv(paymentBytes);
  const digest = payment.single(READER_TAGS.generalDigest);
  const vouches = digest === undefined ? !needsDigest : hash('sha256', generalBytes, 'buffer').equals(digest);
  if (!vouches) throw new CardDataRefusal('digest');
  if (!agrees(general, generalBytes, payment) || !agrees(payment, paymentBytes, general))
    throw new CardDataRefusal('tags-differ');
  return { general, payment, bytes: { general: generalBytes, payment: paymentBytes } };
}

/**
 * Whether every value of `left`, in its bytes, that `right` also has is the same there. Templates are compared object by object.
 */
function agrees(left: TlvIndex, bytes: Uint8Array, right: TlvIndex): boolean {
  let agree = true;
  left.visit((tag, start, end, hasChildren) => {
    const other = hasChildren ? undefined : right.value(tag);
    if (other !== undefined && Buffer.compare(bytes.subarray(start, end), other) !== 0) agree = false;
  });
  return agree;
}
