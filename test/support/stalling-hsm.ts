import { DEMO_READER_KEY, demoKey } from '../../src/crypto/demo-key.ts';
import type { LocalHsm } from '../../src/crypto/hsm.ts';
import { SoftHsm } from '../../src/crypto/soft-hsm.ts';

/** Shared by the test and the gateway in its process, which loads this module from its path (`HSM_MODULE`). */
interface Stall {
  isStalled: boolean;
  /** Translations that were requested while it stalled. */
  held: number;
}

const NAME = Symbol.for('tapwire test: stalling HSM');

/** Controls the HSM that this module opens. */
export function stallOfHsm(): Stall {
  const known = globalThis as { [NAME]?: Stall };
  known[NAME] ??= { isStalled: false, held: 0 };
  return known[NAME];
}

/** A software HSM with the demo keys of type 1, which stops translating PINs when a test requests it. */
export async function openHsm(): Promise<LocalHsm> {
  const keys = [demoKey(DEMO_READER_KEY, 'dukptBase'), demoKey('zone-pin', 'pin'), demoKey('demo-mac-1', 'mac')];
  const hsm: LocalHsm = new SoftHsm({ environment: 'dev', keys });
  const translate = hsm.translatePin.bind(hsm);
  hsm.translatePin = (request) => {
    const stall = stallOfHsm();
    if (!stall.isStalled) return translate(request);
    stall.held++;
    return new Promise(() => {});
  };
  return hsm;
}
