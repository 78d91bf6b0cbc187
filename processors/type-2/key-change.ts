import { type KeyChange, type MessageStamp, transmissionDateTime, type WrappedKey } from '#processor-kit';
import type { Type2Config } from './config.ts';
import { networkResponse } from './messages.ts';
import { profile } from './profile.ts';
import type { Type2Message } from './spec.ts';

/** The key check value, in hex. */
const KCV = /^[0-9A-F]{6}$/;

/**
 * Only the MAC key, because PINs use DUKPT. It is sent as a TR-31 key block in DE48 31, with its check value in 32.
 * No message names a key, so it has no number.
 */
export const keyChange: KeyChange<Type2Config, Type2Message> = {
  uses: ['mac'],
  form: 'keyBlock',
  request: (_use, stamp, config) => keyChangeRequest(stamp, config),
  announcement: ({ wrapped, kcv }, stamp, config) => {
    if (!('block' in wrapped)) throw new Error('type-2 carries key blocks');
    const submission = { appId: config.appId, keyBlock: wrapped.block, keyCheckValue: kcv };
    return { ...keyChangeRequest(stamp, config), submission };
  },
  response: networkResponse,
  readUse: ({ processingCode }) => (processingCode === profile.network.keyChange ? 'mac' : undefined),
  readKey,
};

function keyChangeRequest({ stan, sentAtMs }: MessageStamp, { networkId }: Type2Config): Type2Message {
  const processingCode = profile.network.keyChange;
  return { mti: '0800', processingCode, transmissionDateTime: transmissionDateTime(sentAtMs), stan, networkId };
}

function readKey({ submission }: Type2Message): WrappedKey | undefined {
  const { keyBlock, keyCheckValue } = submission ?? {};
  if (keyBlock === undefined || keyCheckValue === undefined || !KCV.test(keyCheckValue)) return undefined;
  return { use: 'mac', number: 0, wrapped: { block: keyBlock }, kcv: keyCheckValue };
}
