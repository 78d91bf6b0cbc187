import { toHex } from '../../../codecs/bytes/hex.ts';
import { BlockKey } from '../../../codecs/crypto/block-key.ts';
import { headerFor } from '../../../codecs/crypto/key-policy.ts';
import { kcv, keyMac } from '../../../codecs/crypto/mac.ts';
import { decipherPin, encipherPin, parsePin } from '../../../codecs/crypto/pin-block.ts';
import { unwrapTr31, wrapTr31 } from '../../../codecs/crypto/tr31.ts';
import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import { type IsoMessage, isResponse } from '../iso-fields.ts';
import type { KeyChange, WorkingKeyUse, WrappedKey } from '../key-change.ts';
import { macVerdictOf } from '../mac-layout.ts';
import { messageCodec } from '../message-codec.ts';
import type { NetworkRequestKind, SwitchConfig } from '../processor.ts';
import { switchProtocol } from '../switch-protocol.ts';
import { bytesOf, type Check, overTheWire, respond, type Subject, TAPPED_AT_MS, testPurchase } from './check.ts';

const KINDS: readonly NetworkRequestKind[] = ['signOn', 'signOff', 'echo'];

const STAMP = { stan: '000777', sentAtMs: TAPPED_AT_MS };

/** How a session is opened, kept and closed, and how responses are matched to requests. */
export const sessionChecks: readonly Check[] = [
  {
    name: 'sign-on, sign-off and echo are understood, and accepted with 00 alone',
    run(subject) {
      const { processor, config } = subject;
      for (const kind of KINDS) {
        const request = processor.networkRequest(kind, STAMP, config);
        if (request === undefined) continue;
        const read = processor.readRequest(overTheWire(subject, request));
        expectEqual(read.kind, 'network', `${kind}: kind`);
        expectEqual(read.network, kind, 'kind of request');
        expectEqual(read.faults.join(', '), '', `${kind}: mandatory fields missing`);
        const responseWith = (responseCode: string) => respond(subject, request, { responseCode });
        expectThat(processor.isNetworkAccepted(responseWith('00')), `${kind}: 00 is not accepted`);
        expectThat(!processor.isNetworkAccepted(responseWith('91')), `${kind}: 91 is accepted`);
        expectThat(!processor.isNetworkAccepted(request), `${kind}: a request is read as its own response`);
      }
    },
  },
  {
    name: 'the echo and cut-over requests of the switch receive a response',
    run(subject) {
      const { processor, config } = subject;
      for (const kind of ['echo', 'cutOver'] as const) {
        const request = processor.networkRequest(kind, STAMP, config);
        if (request === undefined) continue;
        const response = processor.respondToSwitchRequest(overTheWire(subject, request), config);
        expectThat(response !== undefined, `${kind}: no response`);
        expectThat(
          processor.isNetworkAccepted(overTheWire(subject, response)),
          `${kind}: the response does not accept`,
        );
      }
    },
  },
  {
    name: 'a sale sent by the switch receives no response',
    run({ processor, config }) {
      const sale = processor.authorization(testPurchase(), config);
      expectThat(processor.respondToSwitchRequest(sale, config) === undefined, 'it receives a response');
    },
  },
  {
    name: 'every response has the key of its own request and of no other',
    run(subject) {
      const protocol = protocolOf(subject);
      for (const request of requestsOf(subject)) {
        const response = respond(subject, request, { responseCode: '00' });
        expectThat(isResponse(response) && !isResponse(request), `${request.mti}: request or response`);
        expectEqual(protocol.responseKey(response), protocol.requestKey(request), `${request.mti}: key`);
        const other = respond(subject, request, { responseCode: '00', isOtherStan: true });
        expectThat(
          protocol.responseKey(other) !== protocol.requestKey(request),
          `${request.mti}: another STAN matches`,
        );
      }
      const keys = requestsOf(subject).map((request) => protocol.requestKey(request));
      expectEqual(new Set(keys).size, keys.length, 'different requests with different keys');
    },
  },
  {
    name: 'a response that lacks a key field has no key, and names the missing field',
    run(subject) {
      const { processor } = subject;
      const protocol = protocolOf(subject);
      const request = processor.authorization(testPurchase(), subject.config);
      const response = respond(subject, request, { responseCode: '00' });
      for (const field of processor.match[request.mti.charAt(1)] ?? []) {
        const lacking = { ...response, [field]: undefined };
        expectThat(protocol.responseKey(lacking) === undefined, `it has a key without ${field}`);
        expectEqual(protocol.missingKeyFields(lacking).join(), field, 'missing field');
      }
    },
  },
];

function protocolOf({ processor, config }: Subject) {
  return switchProtocol(processor, { ...config, macKeys: undefined }, { nextStan: () => '000001', nowMs: () => 0 });
}

function requestsOf({ processor, config }: Subject): IsoMessage[] {
  const sale = processor.authorization(testPurchase(), config);
  const original = processor.originalData(sale);
  const times = { sentAtMs: TAPPED_AT_MS + 40_000, localDateTime: '20261120161045' };
  const stan = processor.profile.reversal.keepsStan ? '000123' : '000124';
  return [
    sale,
    processor.authorization(testPurchase({ stan: '000125' }), config),
    processor.reversal({ original, reason: 'timeout', attempt: 1, stan, ...times }, config),
    ...KINDS.flatMap((kind, index) => {
      const stamp = { ...STAMP, stan: `00077${index}` };
      return processor.networkRequest(kind, stamp, config) ?? [];
    }),
  ];
}

const KEY_CHANGE_STAMP = { stan: '000778', sentAtMs: TAPPED_AT_MS };
const NUMBER = 9;

/** Three two-part keys that differ in every byte: the transport key, the previous working key and the new one. */
const TRANSPORT = keyOf(0x13);
const BEFORE = keyOf(0x46);
const AFTER = keyOf(0x89);

/** How working keys are changed, tested with real keys. Features that the type does not offer are skipped. */
export const keyChangeChecks: readonly Check[] = [
  {
    name: 'a request for a key names its use, and is accepted with 00 alone',
    run: eachUse((subject, use, keyChange) => {
      const request = overTheWire(subject, keyChange.request(use, KEY_CHANGE_STAMP, subject.config));
      const { processor } = subject;
      expectEqual(processor.readRequest(request).network, 'keyChange', 'kind of request');
      expectEqual(keyChange.readUse(request), use, 'use of the key');
      expectThat(keyChange.readKey(request) === undefined, 'a request is read as an announcement');
      for (const [code, isAccepted] of [
        ['00', true],
        ['91', false],
      ] as const) {
        const response = overTheWire(subject, keyChange.response(request, code));
        expectEqual(processor.isNetworkAccepted(response), isAccepted, `accepted with ${code}`);
      }
    }),
  },
  {
    name: 'an announced key arrives complete, under its transport key, with its check value',
    run: eachUse((subject, use, keyChange) => {
      const sent = wrapped(use, keyChange);
      const announcement = overTheWire(subject, keyChange.announcement(sent, KEY_CHANGE_STAMP, subject.config));
      const read = keyChange.readKey(announcement);
      expectThat(read !== undefined, 'the announcement cannot be read');
      expectEqual(read.use, use, 'use');
      expectEqual(read.kcv, sent.kcv, 'check value');
      expectEqual(kcv(unwrapped(read)), kcv(AFTER), 'check value of the unwrapped key');
      expectEqual(keyChange.readUse(announcement), use, 'use of the announced key');
    }),
  },
  {
    name: 'a wrong check value arrives unchanged, and a garbled announcement is read or refused without a crash',
    run: eachUse((subject, use, keyChange) => {
      const sent = { ...wrapped(use, keyChange), kcv: '00FF00' };
      const announcement = keyChange.announcement(sent, KEY_CHANGE_STAMP, subject.config);
      const read = keyChange.readKey(overTheWire(subject, announcement));
      expectThat(read !== undefined && read.kcv !== kcv(unwrapped(read)), 'the wrong check value fits the key');
      const bytes = bytesOf(subject.codec, announcement, subject.processor.framing.maxFrameBytes);
      for (let at = 0; at < bytes.length; at++) {
        const garbled = bytes.slice();
        garbled[at]! ^= 0xff;
        const message = decoded(subject, garbled);
        if (message) keyChange.readKey(message);
        if (message) keyChange.readUse(message);
      }
    }),
  },
  { name: 'a new MAC key takes effect, and the previous key is valid until it retires', run: changeMacKey },
  { name: 'a PIN under a new key arrives under it, and the message names that key', run: changePinKey },
];

function eachUse(run: (subject: Subject, use: WorkingKeyUse, keyChange: KeyChange) => void): Check['run'] {
  return (subject) => {
    const { keyChange } = subject.processor;
    for (const use of keyChange?.uses ?? []) run(subject, use, keyChange!);
  };
}

function changeMacKey({ processor, config }: Subject): void {
  const { mac, keyChange } = processor;
  if (!mac || !keyChange?.uses.includes('mac')) return;
  const before = { number: 1, mac: keyMac(BEFORE, mac.method) };
  const after = { number: NUMBER, mac: keyMac(AFTER, mac.method) };
  const agreed: SwitchConfig = { ...config, macKeys: [{ number: 1, keyId: 'before' }] };
  const ours = { keys: [before] };
  const theirs = { keys: [before] };
  const [receiver, sender] = [ours, theirs].map((live) => messageCodec(processor, agreed, undefined, live));
  const verdict = () => {
    const sale = processor.authorization(testPurchase(), agreed);
    return macVerdictOf(receiver!.decode(bytesOf(sender!, sale, processor.framing.maxFrameBytes)));
  };
  expectEqual(verdict(), 'good', 'before the change');
  theirs.keys = [after, before];
  expectThat(verdict() !== 'good', 'a key that was never announced is accepted');
  ours.keys = [before, after];
  expectEqual(verdict(), 'good', 'the new key, once announced');
  ours.keys = [after, before];
  theirs.keys = [before];
  expectEqual(verdict(), 'good', 'the previous key, during the overlap');
  ours.keys = [after];
  expectThat(verdict() !== 'good', 'a retired key is accepted');
}

function changePinKey(subject: Subject): void {
  const { processor, config } = subject;
  if (!processor.keyChange?.uses.includes('pin')) return;
  const { card } = testPurchase();
  const block = encipherPin(0, parsePin('12345'), card.pan, AFTER);
  const sale = processor.authorization(testPurchase({ pin: { block, keyNumber: NUMBER } }), config);
  const { pin } = processor.readRequest(overTheWire(subject, sale));
  expectThat(pin !== undefined, 'the PIN does not arrive');
  expectEqual(pin.keyNumber, NUMBER, 'key number');
  const digits = decipherPin(0, pin.block, card.pan, AFTER);
  expectEqual(toHex(digits.reveal()), toHex(parsePin('12345').reveal()), 'the PIN under the new key');
}

function wrapped(use: WorkingKeyUse, { form }: KeyChange): WrappedKey {
  const named = { use, number: NUMBER, kcv: kcv(AFTER) };
  if (form === 'cryptogram') {
    return { ...named, wrapped: { cryptogram: AFTER.useBytes((bytes) => TRANSPORT.encrypt(bytes)) } };
  }
  return { ...named, wrapped: { block: wrapTr31(AFTER, headerFor(use, AFTER, TRANSPORT), TRANSPORT) } };
}

function unwrapped({ wrapped: travelling }: WrappedKey): BlockKey {
  if ('block' in travelling) return unwrapTr31(travelling.block, TRANSPORT).key;
  return new BlockKey('tdes', TRANSPORT.decrypt(travelling.cryptogram));
}

function decoded({ codec }: Subject, bytes: Uint8Array): IsoMessage | undefined {
  try {
    return codec.decode(bytes);
  } catch {
    return undefined; // another check requires a typed error
  }
}

function keyOf(first: number): BlockKey {
  return new BlockKey(
    'tdes',
    Uint8Array.from({ length: 16 }, (_, at) => (first + at * 0x1d) & 0xff),
  );
}
