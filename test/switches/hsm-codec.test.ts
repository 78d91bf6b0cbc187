import { describe, expect, test } from 'vitest';
import { CryptoError, HsmUnavailable } from '../../src/basics/errors.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { isTrusted, judgeMac, macVerdictOf } from '../../src/kits/processor-kit/mac-layout.ts';
import { messageCodec } from '../../src/kits/processor-kit/message-codec.ts';
import type { Processor } from '../../src/kits/processor-kit/processor.ts';
import { hsmCodec, type MacHsm, tryMacKey } from '../../src/switching/switches/hsm-codec.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';

const processors = [...(await loadProcessors()).values()].filter(({ mac }) => mac !== undefined);
const KEYS = [
  { number: 1, keyId: 'first' },
  { number: 2, keyId: 'second' },
];

function both(processor: Processor, far = KEYS) {
  const config = { ...processor.exampleConfig, macKeys: KEYS };
  const hsm = demoHsm([config], 'dev');
  const switchCodec = messageCodec(processor, { ...config, macKeys: far }, (keyId, method) =>
    hsm.keyMac(keyId, method),
  );
  const sale = () => processor.authorization(testPurchase(), config);
  const { maxFrameBytes } = processor.framing;
  return {
    config,
    hsm,
    switchCodec,
    sale,
    codec: hsmCodec(processor, config, hsm),
    target: new Uint8Array(maxFrameBytes),
  };
}

describe.each(processors)('$type with its MAC keys in an HSM', (processor) => {
  test('sends the bytes that a switch with the same keys would send', async () => {
    const { codec, switchCodec, sale, target } = both(processor);
    const message = sale();
    await codec.seal!(message);
    const end = codec.encode(message, target, 0);
    const expected = new Uint8Array(target.length);
    const expectedEnd = switchCodec.encode(sale(), expected, 0);
    expect(Buffer.compare(target.subarray(0, end), expected.subarray(0, expectedEnd))).toBe(0);
  });

  test('a switch with its MAC keys in an HSM never writes a message without MAC, also not one whose encoding was only tried', () => {
    const { codec, sale, target } = both(processor);
    const message = sale();
    expect(() => codec.encode(message, target, 0)).toThrow('without MAC');
    codec.encodeUnsealed(message, target, 0);
    expect(() => codec.encode(message, target, 0)).toThrow('without MAC');
  });

  test('trusts no received message before its MAC is checked, and afterwards only a good one', async () => {
    const { codec, switchCodec, sale, target } = both(processor);
    const end = switchCodec.encode(sale(), target, 0);
    const good = codec.decode(target.slice(0, end));
    expect(isTrusted(good)).toBe(false);
    await judgeMac(good);
    expect(macVerdictOf(good)).toBe('good');
    const changed = target.slice(0, end);
    changed[end - processor.mac!.lengthBytes + 1]! ^= 1;
    const bad = codec.decode(changed);
    await judgeMac(bad);
    expect(macVerdictOf(bad)).toBe('bad');
  });

  test('accepts the MAC of each of its keys, and not of another one', async () => {
    const verdictBy = async (keyId: string) => {
      const { codec, switchCodec, sale, target } = both(processor, [{ number: 2, keyId }]);
      const message = codec.decode(target.slice(0, switchCodec.encode(sale(), target, 0)));
      await judgeMac(message);
      return macVerdictOf(message);
    };
    expect(await verdictBy('second')).toBe('good');
    await expect(verdictBy('third')).rejects.toThrow(CryptoError);
    expect(await verdictBy('first')).toBe(
      processor.mac!.read(new Uint8Array(8)).keyNumber === undefined ? 'good' : 'bad',
    );
  });

  test('passes on that the HSM does not respond, and trusts nothing', async () => {
    const { config, switchCodec, sale, target } = both(processor);
    const silent: MacHsm = {
      mac: () => Promise.reject(new HsmUnavailable()),
      verifyMac: () => Promise.reject(new HsmUnavailable()),
    };
    const codec = hsmCodec(processor, config, silent);
    await expect(codec.seal!(sale())).rejects.toThrow(HsmUnavailable);
    const message = codec.decode(target.slice(0, switchCodec.encode(sale(), target, 0)));
    await expect(judgeMac(message)).rejects.toThrow(HsmUnavailable);
    expect(isTrusted(message)).toBe(false);
  });

  test('gives the HSM bytes of its own, which it wipes', async () => {
    const { config, hsm, sale } = both(processor);
    const seen: Uint8Array[] = [];
    const watching: MacHsm = {
      mac: (request) => {
        seen.push(request.message);
        return hsm.mac(request);
      },
      verifyMac: (request) => hsm.verifyMac(request),
    };
    const codec = hsmCodec(processor, config, watching);
    await Promise.all([codec.seal!(sale()), codec.seal!(sale())]);
    expect(new Set(seen.map(({ buffer }) => buffer)).size).toBe(2);
    for (const bytes of seen) expect(bytes.every((byte) => byte === 0)).toBe(true);
  });

  test('is not opened with a key that makes MACs and cannot verify them', async () => {
    const { config, hsm } = both(processor);
    const mac: MacHsm['mac'] = (request) => hsm.mac(request);
    await expect(tryMacKey(processor, config, { mac, verifyMac: async () => false }, 'first')).rejects.toThrow(
      CryptoError,
    );
    const disabled: MacHsm = { mac, verifyMac: () => Promise.reject(new HsmUnavailable()) };
    await expect(tryMacKey(processor, config, disabled, 'first')).rejects.toThrow(HsmUnavailable);
    await tryMacKey(processor, config, hsm, 'first');
  });
});
