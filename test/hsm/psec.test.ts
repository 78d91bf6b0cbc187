import { afterEach, describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { MAC_ALGORITHMS } from '../../src/codecs/crypto/mac.ts';
import type { LmkForm } from '../../src/tools/simulator/hsm/test-lmk.ts';
import { missingModule, pythonJson } from './python.ts';
import { CLEAR, Opened } from './support.ts';

const opened = new Opened();
afterEach(() => opened.closeAll());

/** What the other side of each exchange computes: a terminal, a switch, and a party that sends a key. */
const OTHER_SIDE = `
import json, sys
from psec import des, mac, pinblock, tr31
i = json.loads(sys.argv[1])
h = bytes.fromhex
out = {}
for name, encode in (('0', pinblock.encode_pinblock_iso_0), ('3', pinblock.encode_pinblock_iso_3)):
    out['pin' + name] = des.encrypt_tdes_ecb(h(i['tpk']), encode(i['pin'], i['pan'])).hex()
message = h(i['message'])
out['retail1'] = mac.generate_retail_mac(h(i['zak'])[:8], h(i['zak'])[8:], message, 1).hex()
out['retail2'] = mac.generate_retail_mac(h(i['zak'])[:8], h(i['zak'])[8:], message, 2).hex()
out['cbc1'] = mac.generate_cbc_mac(h(i['zak']), message, 1).hex()
out['kcv'] = des.generate_kcv(h(i['zpk']), 3).hex()
out['cryptogram'] = des.encrypt_tdes_ecb(h(i['zmk']), h(i['zpk'])).hex()
out['block'] = tr31.wrap(h(i['zmk']), 'B0096P0TB00N0000', h(i['zpk']))
print(json.dumps(out))
`;

/** PIN blocks of a response, as the switch deciphers them. */
const SWITCH = `
import json, sys
from psec import des, pinblock
i = json.loads(sys.argv[1])
h = bytes.fromhex
decode = {'0': pinblock.decode_pinblock_iso_0, '3': pinblock.decode_pinblock_iso_3}
print(json.dumps([decode[f](des.decrypt_tdes_ecb(h(i['zpk']), h(b)), i['pan']) for f, b in i['blocks']]))
`;

interface OtherSide {
  readonly pin0: string;
  readonly pin3: string;
  readonly retail1: string;
  readonly retail2: string;
  readonly cbc1: string;
  readonly kcv: string;
  readonly cryptogram: string;
  readonly block: string;
}

const PAN = '4111111111111111';
const PIN = '123456';
const MESSAGE = Buffer.from('0200 a message whose length is no multiple of 8');

const missing = await missingModule('psec');

/** The client and the simulated device share cryptography of this project, so another implementation checks it. */
describe.each(['variant', 'keyBlock'] as const)('with a %s LMK, psec computes the same', (form: LmkForm) => {
  test('PIN blocks, MACs, check values and imported keys', async ({ skip }) => {
    skip(missing !== undefined, missing);
    const input = { ...CLEAR, pan: PAN, pin: PIN, message: MESSAGE.toString('hex') };
    const other = await pythonJson<OtherSide>(OTHER_SIDE, input);
    const { port } = await opened.simulator({ lmkForm: form });
    const hsm = await opened.hsm([port], { lmk: { form } });
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 5 }).toBe('ready');

    const kcv = other.kcv.toUpperCase();
    expect(await hsm.kcv('zpk')).toBe(kcv);
    for (const [keyId, source] of [
      ['fromCryptogram', { transportKeyId: 'zmk', cryptogram: fromHex(other.cryptogram), kcv, parity: 'any' }],
      ['fromBlock', { transportKeyId: 'kbpk', block: other.block, kcv }],
    ] as const) {
      await hsm.importKey({ keyId, usage: 'pin', ...source });
      const blocks: [string, string][] = [];
      for (const [from, to] of [
        [0, 3],
        [3, 0],
      ] as const) {
        const block = fromHex(from === 0 ? other.pin0 : other.pin3);
        const pin = { keyId: 'tpk', format: from, block } as const;
        const translated = await hsm.translatePin({ from: pin, to: { keyId, format: to }, pan: PAN });
        blocks.push([String(to), toHex(translated.block)]);
      }
      expect(await pythonJson(SWITCH, { zpk: CLEAR.zpk, pan: PAN, blocks })).toEqual([PIN, PIN]);
    }

    for (const [name, mac] of [
      ['x9.19', other.retail1],
      ['iso9797-1-algorithm-3-padding-2', other.retail2],
      ['tdes-cbc-mac', other.cbc1],
    ] as const) {
      const request = { keyId: 'zak', method: MAC_ALGORITHMS[name], message: MESSAGE, lengthBytes: 8 };
      expect(toHex(await hsm.mac(request)).toLowerCase()).toBe(mac);
      expect(await hsm.verifyMac({ ...request, mac: fromHex(mac) })).toBe(true);
    }
  });
});
