/** ISO 8583: define a table of fields, compile it, encode and decode messages, split a stream into frames. */

export { DigitError, Iso8583Error, type Iso8583ErrorCode } from '../../../basics/errors/codec-errors.ts';
export { ConnectionError, type ConnectionErrorCode } from '../../../basics/errors/gateway-errors.ts';
export { fromHex, toHex } from '../../bytes/hex.ts';
export { type Codec, compileSpec, MAX_MESSAGE_BYTES } from '../codec.ts';
export { type DescribeOptions, describeMessage, type MessageRow, messageRows } from '../describe.ts';
export * from '../fields.ts';
export { type Masker, maskerOf } from '../masker.ts';
export { isResponse, type MtiParts, pairingKey, parseMti, responseMti } from '../message.ts';
export { type Difference, diffMessages } from '../message-inspection.ts';
export { FrameReader, type OnFrame } from '../network/frame-reader.ts';
export {
  checkFraming,
  type Framing,
  prefixBytesOf,
  type TransportHeader,
  writeFraming,
} from '../network/framing.ts';
export { LENGTH_HEADER_NAMES, LENGTH_HEADERS, type LengthHeaderName } from '../network/length-headers.ts';
export { type RecordFileOptions, readRecords, writeRecords } from '../network/record-files.ts';
export { type Padding, SPACES_LEFT, SPACES_RIGHT, ZEROS_LEFT } from '../rows.ts';
export {
  type Changed,
  defineSpec,
  extendSpec,
  type Layout,
  type MessageOf,
  type Spec,
  type SpecChanges,
} from '../spec.ts';
