import { CryptoError, type CryptoErrorCode } from '../../src/basics/errors.ts';
import type { Hsm } from '../../src/codecs/crypto/hsm.ts';
import { DEMO_READER_KEY, demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';

/** Shared by the test and the gateway in its process, which loads this module from its path (`HSM_MODULE`). */
interface Stall {
  /** The calls that stay without response. */
  stalled: readonly StallingCall[];
  /** Calls that were made while they stalled. */
  held: number;
  /** The error of every call for a MAC: as if the key had been removed. */
  failsWith?: CryptoErrorCode | undefined;
}

type StallingCall = 'translatePin' | 'mac' | 'verifyMac';

const NAME = Symbol.for('tapwire test: stalling HSM');

/** Controls the HSM that this module opens. */
export function stallOfHsm(): Stall {
  const known = globalThis as { [NAME]?: Stall };
  known[NAME] ??= { stalled: [], held: 0 };
  return known[NAME];
}

/** A software HSM with the demo keys of type 1, which stops responding when a test requests it. */
export async function openHsm(): Promise<Hsm> {
  const keys = [demoKey(DEMO_READER_KEY, 'dukptBase'), demoKey('zone-pin', 'pin'), demoKey('demo-mac-1', 'mac')];
  const hsm: Hsm = new SoftHsm({ environment: 'dev', keys });
  const stalling = (name: StallingCall) => {
    const call = hsm[name].bind(hsm) as (request: unknown) => Promise<never>;
    return (request: unknown) => {
      const stall = stallOfHsm();
      if (stall.failsWith && name === 'mac') return Promise.reject(new CryptoError(stall.failsWith));
      if (!stall.stalled.includes(name)) return call(request);
      stall.held++;
      return new Promise<never>(() => {});
    };
  };
  const [translatePin, mac, verifyMac] = [stalling('translatePin'), stalling('mac'), stalling('verifyMac')];
  return Object.assign(hsm, { translatePin, mac, verifyMac });
}
