import {
  BlockKey,
  dukptRequestKeys,
  fromHex,
  type SampleBaseKey,
  type SampleKeys,
  type SampleReader,
} from '#reader-kit';
import { authenticated, type DukptSettings, encodeBlob, pad } from './blob.ts';

/** Key set and device of the sample readers; the counter is in the last bytes. */
const DEVICES = { tdes: 'FFFF9876543210E00000', aes: '123456789012345600000000' };
const KEY_SET_CHARS = 8;
/** Devices skip counters with more one bits (ANSI X9.24-1:2009 A.2, X9.24-3:2017 6.1). */
const MAX_ONES = 10;
const COUNTER_MASK = 0x1f_ffff;

/** Two devices for each base derivation key: the second one binds its blobs to a merchant. */
export function sampleReaders({ baseKeys }: SampleKeys): readonly SampleReader<DukptSettings>[] {
  return baseKeys.flatMap((key) => [readerOf(key, false), readerOf(key, true)]);
}

function readerOf({ keyId, algorithm, bytes }: SampleBaseKey, bindsMerchant: boolean): SampleReader<DukptSettings> {
  const base = new BlockKey(algorithm, bytes);
  let counter = 0;
  return {
    name: `${algorithm.toUpperCase()} ${bytes.length * 8}${bindsMerchant ? ', bound to a merchant' : ''}`,
    settings: {
      keySets: [{ keySetId: DEVICES[algorithm].slice(0, KEY_SET_CHARS), baseKeyId: keyId, algorithm }],
      ...(bindsMerchant && { bindsMerchant }),
    },
    bindsMerchant,
    seal(payment, { merchant, ...unbound }) {
      const binding = bindsMerchant ? { ...unbound, merchant } : unbound;
      counter = nextCounter(counter);
      const ksn = withCounter(fromHex(DEVICES[algorithm]), counter);
      const { data, mac } = dukptRequestKeys(base, ksn);
      const ciphertext = data.encryptCbc(pad(payment, data.blockBytes), new Uint8Array(data.blockBytes));
      return encodeBlob({ ksn, ciphertext, mac: mac(authenticated({ ksn, ciphertext }, binding)) });
    },
  };
}

function nextCounter(counter: number): number {
  let next = (counter + 1) & COUNTER_MASK;
  while (next.toString(2).replaceAll('0', '').length > MAX_ONES || next === 0) next = (next + 1) & COUNTER_MASK;
  return next;
}

function withCounter(ksn: Uint8Array, counter: number): Uint8Array {
  const view = new DataView(ksn.buffer, ksn.byteOffset);
  const last = ksn.length - 4;
  view.setUint32(last, (view.getUint32(last) | counter) >>> 0);
  return ksn;
}
