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
import { framingOf } from '../profile-of.ts';
import type { Check, Subject } from './check.ts';
import { testPurchase } from './test-tap.ts';
import { bytesOf, respond } from './wire.ts';

/** No sample comes near to it; a message that does not fit the framing must still be measured. */
const MOST_MESSAGE_BYTES = 65_535;

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
        const { length } = bytesOf(codec, message, MOST_MESSAGE_BYTES);
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
