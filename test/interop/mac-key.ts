import type { SwitchConfig } from '../../src/kits/processor-kit/switch-config.ts';
import { demoKeysOf } from '../../src/tools/simulator/demo-hsm.ts';
import type { Peer } from './peer.ts';

/** Gives jPOS the MAC key of a configuration, if it has one. */
export async function shareMacKey(peer: Peer, type: string, config: SwitchConfig): Promise<void> {
  const keyId = config.macKeys?.[0]?.keyId;
  const key = demoKeysOf([config]).find((each) => each.keyId === keyId);
  if (key !== undefined) await peer.ask('key', type, key.key);
}
