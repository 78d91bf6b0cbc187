import { randomFillSync } from 'node:crypto';

/** What a column of type uuid accepts, in its usual form. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text has the form of a UUID, of any version, in letters of either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Random bytes for many ids: a call of the system costs more than its bytes. */
const random = Buffer.alloc(256 * 10);
let used = random.length;

/**
 * A UUID of version 4 whose first 48 bits are the time; 74 bits are random. Ids that are created one after the other lie
 * side by side in an index, and an id names the month in which its row is stored.
 *
 * @param nowMs milliseconds since 1970
 */
export function newId(nowMs: number): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  random[used] = (random[used]! & 0x0f) | 0x40;
  random[used + 2] = (random[used + 2]! & 0x3f) | 0x80;
  const digits = random.toString('hex', used, used + 10);
  used += 10;
  const time = Math.trunc(nowMs).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-${digits.slice(0, 4)}-${digits.slice(4, 8)}-${digits.slice(8)}`;
}
