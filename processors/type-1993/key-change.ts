import { type KeyChange, type MessageStamp, transmissionDateTime, type WrappedKey } from '#processor-kit';
import type { Type1993Config } from './config.ts';
import { networkResponse } from './messages.ts';
import { profile } from './profile.ts';
import { decodeKeyControl, encodeKeyControl, useOfKey } from './security-control.ts';
import type { Type1993Message } from './spec.ts';

/** A TR-31 key block is printable text, and at least its header of 16 characters. */
const KEY_BLOCK = /^[\x20-\x7e]{16,}$/;

/** The MAC key and the zone PIN key: as a TR-31 key block in DE96, with use, number and check value in DE53. */
export const keyChange: KeyChange<Type1993Config, Type1993Message> = {
  uses: ['mac', 'pin'],
  form: 'keyBlock',
  request: (use, stamp) => keyMessage(encodeKeyControl(use), stamp),
  announcement: (key, stamp) => {
    if (!('block' in key.wrapped)) throw new Error('type-1993 carries key blocks');
    const keyManagementData = new Uint8Array(Buffer.from(key.wrapped.block, 'latin1'));
    return { ...keyMessage(encodeKeyControl(key.use, key), stamp), keyManagementData };
  },
  response: networkResponse,
  readUse: ({ securityControl }) => useOfKey(securityControl),
  readKey,
};

function keyMessage(securityControl: Uint8Array, { stan, sentAtMs }: MessageStamp): Type1993Message {
  const functionCode = profile.network.keyChange;
  return { mti: '1804', transmissionDateTime: transmissionDateTime(sentAtMs), stan, functionCode, securityControl };
}

function readKey({ securityControl, keyManagementData }: Type1993Message): WrappedKey | undefined {
  const use = useOfKey(securityControl);
  const control = decodeKeyControl(securityControl);
  const block = keyManagementData && Buffer.from(keyManagementData).toString('latin1');
  if (use === undefined || control === undefined || block === undefined || !KEY_BLOCK.test(block)) return undefined;
  return { use, number: control.number, wrapped: { block }, kcv: control.kcv };
}
