import { type KeyChange, type MessageStamp, transmissionDateTime } from '#processor-kit';
import type { Type1Config } from './config.ts';
import { networkResponse } from './messages.ts';
import { profile } from './profile.ts';
import { decodeWrappedKey, encodeSecurityControl, encodeWrappedKey, useOfKey } from './security-control.ts';
import type { Type1Message } from './spec.ts';

/** Zone keys: in DE53, as a cryptogram under the zone master key, with the check value of the clear key. */
export const keyChange: KeyChange<Type1Config, Type1Message> = {
  uses: ['mac', 'pin'],
  form: 'cryptogram',
  request: (use, stamp) => keyMessage(encodeSecurityControl(use), stamp),
  announcement: (key, stamp) => keyMessage(encodeWrappedKey(key), stamp),
  response: networkResponse,
  readUse: ({ securityControl }) => useOfKey(securityControl),
  readKey: ({ securityControl }) => decodeWrappedKey(securityControl),
};

function keyMessage(securityControl: Uint8Array, { stan, sentAtMs }: MessageStamp): Type1Message {
  const networkCode = profile.network.keyChange;
  return { mti: '0800', transmissionDateTime: transmissionDateTime(sentAtMs), stan, securityControl, networkCode };
}
