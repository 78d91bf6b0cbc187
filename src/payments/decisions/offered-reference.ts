import { hash } from 'node:crypto';
import type { Link } from '../model/link.ts';

/**
 * The merchantReference that the details of a link offer after its paymentReference was used, because one reference
 * stands for one authorization. It is derived from the link and its last tap, so it needs no storage, and the commit
 * of the next tap changes it. It is a UUID of version 8 (RFC 9562 5.8), so it never equals the id of a link or a
 * transaction, which are version 4.
 */
export function offeredReference({ id, transactionId }: Pick<Link, 'id' | 'transactionId'>): string {
  const digits = hash('sha256', `offered reference ${id} ${transactionId ?? ''}`, 'hex');
  const variant = ((Number.parseInt(digits[16]!, 16) & 0x3) | 0x8).toString(16);
  const groups = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
  ];
  return `${groups.join('-')}-${digits.slice(20, 32)}`;
}

/** Whether a tap with the token of a link may be submitted under this reference (contract, "Authentication"). */
export function admitsReference(link: Link, merchantReference: string): boolean {
  return merchantReference === link.paymentReference || merchantReference === offeredReference(link);
}
