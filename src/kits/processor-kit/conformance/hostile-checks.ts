import { TapwireError } from '../../../basics/errors.ts';
import type { MacFunction } from '../../../codecs/crypto/mac.ts';
import { FrameReader } from '../../../codecs/iso8583/network/frame-reader.ts';
import {
  type Framing,
  framingFault,
  prefixBytesOf,
  trailerBytesOf,
  transportBytesOf,
  writeFraming,
} from '../../../codecs/iso8583/network/framing.ts';
import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import type { IsoMessage } from '../iso-fields.ts';
import { messageCodec } from '../message-codec.ts';
import { framingOf } from '../switch-protocol.ts';
import { bytesOf, type Check, overTheWire, respond, type Subject, secretsOf, testPurchase } from './check.ts';

const PIN = { block: Uint8Array.of(0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, 0x17, 0x28) };

/** What must not happen, regardless of what arrives. */
export const hostileChecks: readonly Check[] = [
  {
    name: 'every truncated message is refused with a typed error',
    run(subject) {
      for (const bytes of wiresOf(subject)) {
        for (let end = 0; end < bytes.length; end++) {
          const error = errorOf(() => subject.codec.decode(bytes, 0, end));
          expectThat(error instanceof TapwireError, `${end} of ${bytes.length} bytes: ${nameOf(error)}`);
        }
      }
    },
  },
  {
    name: 'every garbled byte gives a message or a typed error, and no function that reads the message throws',
    run(subject) {
      const [request] = messagesOf(subject);
      for (const bytes of wiresOf(subject)) eachGarbled(bytes, (garbled) => readWhole(subject, garbled, request!));
    },
  },
  {
    name: 'no error contains card data',
    run(subject) {
      const purchase = testPurchase({ pin: PIN });
      const secrets = secretsOf(purchase);
      const expectClean = (error: unknown) => {
        const text = `${String(error)} ${(error as Error | undefined)?.stack ?? ''}`;
        expectThat(!secrets.some((secret) => text.includes(secret)), 'an error contains card data');
      };
      for (const bytes of wiresOf(subject)) {
        for (let end = 0; end < bytes.length; end++) expectClean(errorOf(() => subject.codec.decode(bytes, 0, end)));
        eachGarbled(bytes, (garbled) => expectClean(errorOf(() => subject.codec.decode(garbled))));
      }
      const message = subject.processor.authorization(purchase, subject.config);
      expectClean(errorOf(() => subject.codec.encode(message, new Uint8Array(64), 0)));
    },
  },
  {
    name: 'a request that lacks any one field is read without a crash',
    run(subject) {
      for (const message of messagesOf(subject)) {
        for (const field of Object.keys(message)) {
          if (field === 'mti') continue;
          const lacking = { ...message, [field]: undefined };
          subject.processor.readRequest(lacking);
          subject.processor.simulate(lacking, { responseCode: '30' });
          subject.processor.readOutcome(lacking, message);
        }
      }
    },
  },
  { name: 'a bad MAC, a missing MAC and a MAC with an unknown key never give an approval', run: macVerdicts },
];

/** A sale with a PIN, and its approval. */
function messagesOf(subject: Subject): IsoMessage[] {
  const request = subject.processor.authorization(testPurchase({ pin: PIN }), subject.config);
  return [
    overTheWire(subject, request),
    respond(subject, request, { responseCode: '00', authorizationCode: '123456' }),
  ];
}

function wiresOf(subject: Subject): Uint8Array[] {
  const { codec, processor } = subject;
  return messagesOf(subject).map((message) => bytesOf(codec, message, processor.framing.maxFrameBytes));
}

/** Each byte in turn: all bits inverted, then zero. */
function eachGarbled(bytes: Uint8Array, use: (garbled: Uint8Array) => void): void {
  for (let at = 0; at < bytes.length; at++) {
    for (const value of [bytes[at]! ^ 0xff, 0]) {
      const garbled = bytes.slice();
      garbled[at] = value;
      use(garbled);
    }
  }
}

function readWhole({ processor, codec }: Subject, bytes: Uint8Array, request: IsoMessage): void {
  let message: IsoMessage;
  try {
    message = codec.decode(bytes);
  } catch (error) {
    expectThat(error instanceof TapwireError, `decoding threw ${nameOf(error)}`);
    return;
  }
  processor.readOutcome(message, request);
  processor.readReversalResponse(message);
  processor.isNetworkAccepted(message);
  processor.providerFields(message);
  processor.readRequest(message);
}

function macVerdicts(subject: Subject): void {
  const { processor } = subject;
  if (processor.mac === undefined) return;
  const config = { ...subject.config, macKeys: [{ number: 1, keyId: 'right' }] };
  const agreed = messageCodec(processor, config, toyMac);
  const others = { ...config, macKeys: [{ number: 1, keyId: 'wrong' }] };
  const request = processor.authorization(testPurchase(), config);
  const outcome = (sender: typeof agreed) => {
    const response = processor.simulate(request, { responseCode: '00', authorizationCode: '123456' });
    return processor.readOutcome(agreed.decode(bytesOf(sender, response, processor.framing.maxFrameBytes)), request)
      .kind;
  };
  expectEqual(outcome(agreed), 'approved', 'a good MAC');
  expectEqual(outcome(messageCodec(processor, others, toyMac)), 'unknown', 'a MAC with another key');
  expectEqual(outcome(subject.codec), 'unknown', 'no MAC although one was agreed');
  const numbered = messageCodec(processor, { ...config, macKeys: [{ number: 2, keyId: 'right' }] }, toyMac);
  if (processor.mac.read(processor.mac.compose(2, new Uint8Array(processor.mac.macBytes))).keyNumber !== undefined) {
    expectEqual(outcome(numbered), 'unknown', 'a MAC with another key number');
  }
}

/** Not a cipher: a checksum that depends on the key's name and on every byte. */
function toyMac(keyId: string): MacFunction {
  return (data) => {
    const mac = Uint8Array.from(Buffer.from(keyId.padEnd(8).slice(0, 8)));
    data.forEach((byte, at) => {
      mac[at % 8] = (mac[at % 8]! * 31 + byte) & 0xff;
    });
    return mac;
  };
}

function errorOf(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'nothing was thrown';
}

/** No sample comes near to it; a message that does not fit the framing must still be measured. */
const MAX_MESSAGE_BYTES = 65_535;

/** What precedes a message in the stream. */
export const framingChecks: readonly Check[] = [
  {
    name: 'the framing is a row of the table, and its frames have room for the messages',
    run(subject) {
      const framing = checkedFraming(subject);
      const most = framing.maxFrameBytes - transportBytesOf(framing);
      const { processor } = subject;
      for (const { name, message, config } of processor.samples) {
        const codec = processor.codec(config ?? processor.exampleConfig);
        const { length } = bytesOf(codec, message, MAX_MESSAGE_BYTES);
        expectThat(length <= most, `${name}: ${length} bytes, maxFrameBytes leaves ${most}`);
      }
    },
  },
  {
    name: 'a stream of messages and keep-alives is read wherever it is split',
    run(subject) {
      const framing = checkedFraming(subject);
      const sale = subject.processor.authorization(testPurchase(), subject.config);
      const messages = [sale, respond(subject, sale, { responseCode: '00', authorizationCode: '123456' })].map(
        (message) => bytesOf(subject.codec, message, framing.maxFrameBytes),
      );
      const keepAlive = frameOf({ ...framing, transportHeader: undefined }, new Uint8Array());
      const stream = Buffer.concat([keepAlive, ...messages.flatMap((bytes) => [frameOf(framing, bytes), keepAlive])]);
      const expected = messages.map((bytes) => Buffer.from(bytes).toString('hex')).join();
      for (let at = 0; at <= stream.length; at++)
        expectEqual(read(framing, [stream.subarray(0, at), stream.subarray(at)]) === expected, true, `split at ${at}`);
    },
  },
];

/** @throws CheckFailure if the framing of the dialect cannot be used */
function checkedFraming({ processor, config }: Subject): Framing {
  const framing = framingOf(processor, config);
  const fault = framingFault(framing);
  expectThat(fault === undefined, `framing: ${fault}`);
  return framing;
}

function frameOf(framing: Framing, message: Uint8Array): Uint8Array {
  const start = prefixBytesOf(framing);
  const frame = new Uint8Array(start + message.length + trailerBytesOf(framing));
  frame.set(message, start);
  writeFraming(framing, frame, start, start + message.length);
  return frame;
}

function read(framing: Framing, chunks: readonly Uint8Array[]): string {
  const messages: string[] = [];
  const reader = new FrameReader(framing, (bytes, start, end) => {
    messages.push(Buffer.from(bytes.subarray(start, end)).toString('hex'));
  });
  for (const chunk of chunks) reader.push(chunk);
  return messages.join();
}
