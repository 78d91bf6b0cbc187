import { expect, test, vi } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { switchProtocol } from '../../src/kits/processor-kit/switch-protocol.ts';
import { MaskedCopies } from '../../src/switching/switches/exchange.ts';

const processor = (await loadProcessors()).get('type-1')!;
const { exampleConfig, samples } = processor;
const plain = switchProtocol(processor, exampleConfig, { nextStan: () => '000001', nowMs: () => 0 });
const tap = samples.find(({ name }) => name === 'tap')!;
const signOn = samples.find(({ name }) => name === 'sign-on')!;

function open(spec = processor.codec(exampleConfig).spec) {
  const copies = new MaskedCopies(spec);
  const protocol = copies.around(plain);
  const encode = (message: IsoMessage) => {
    const target = new Uint8Array(4_096);
    return target.subarray(7, protocol.encode(message, target, 7));
  };
  return { copies, protocol, encode };
}

test('a sent message is masked immediately, and sent unchanged', () => {
  const { copies, encode } = open();
  const message = { ...tap.message };
  expect(toHex(encode(message))).toBe(tap.wireHex.toUpperCase());
  const copy = copies.of(message) as Uint8Array;
  expect(copy).toHaveLength(tap.wireHex.length / 2);
  const { pan, track2, stan } = processor.codec(exampleConfig).decode(copy);
  expect(pan).toMatch(/^[0-9]{6}0+[0-9]{4}$/);
  expect(track2).toMatch(/^[0-9]{6}0+[0-9]{4}[D=]0+$/);
  expect(stan).toBe(message.stan);
});

test('a received message is read unchanged, and its copy is masked', () => {
  const { copies, protocol } = open();
  const bytes = Buffer.concat([Buffer.alloc(3), fromHex(tap.wireHex), Buffer.alloc(2)]);
  const message = protocol.decode(bytes, 3, bytes.length - 2);
  expect(message.pan).toBe(tap.message.pan);
  expect(toHex(copies.of(message) as Uint8Array)).not.toContain(toHex(Buffer.from(String(tap.message.pan))));
});

test('the length of refused bytes is known, from their error', () => {
  const { copies, protocol } = open();
  try {
    protocol.decode(fromHex(tap.wireHex), 0, 99);
    expect.unreachable();
  } catch (error) {
    expect(copies.of(error)).toBe(99);
  }
});

test('only lengths are kept of messages of a dialect without a known field table', () => {
  const copies = new MaskedCopies(undefined);
  const message = { ...tap.message };
  copies.around(plain).encode(message, new Uint8Array(4_096), 0);
  expect(copies.of(message)).toBe(tap.wireHex.length / 2);
});

test('a failure of masking costs the copy, not the message', () => {
  const { protocol, copies } = open();
  const allocate = vi.spyOn(Buffer, 'allocUnsafe').mockImplementation(() => {
    throw new RangeError('unexpected');
  });
  try {
    const message = protocol.decode(fromHex(tap.wireHex), 0, tap.wireHex.length / 2);
    expect(message.pan).toBe(tap.message.pan);
    expect(copies.of(message)).toBe(tap.wireHex.length / 2);
  } finally {
    allocate.mockRestore();
  }
});

test('sign-ons and key messages are not copied, nor what was never a message', () => {
  const { copies, encode } = open();
  const message = { ...signOn.message };
  encode(message);
  for (const nothing of [message, {}, undefined, 'text']) expect(copies.of(nothing)).toBeUndefined();
});
