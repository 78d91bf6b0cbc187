import { Iso8583Error, StartError, sentenceOf, TlvError } from '../basics/errors.ts';
import { describeTlv, tlvRows } from '../codecs/emv/describe-tlv.ts';
import { indexTlv } from '../codecs/emv/tlv.ts';
import { linesOf } from '../codecs/iso8583/describe.ts';
import {
  compareMessages,
  type Difference,
  encodeJson,
  type ReadMessage,
  readMessage,
} from '../codecs/iso8583/message-inspection.ts';
import { flag, readHexInput, readJson, readWords, text } from './arguments.ts';
import { readSpec } from './plug-ins.ts';

const DECODE_USAGE = `usage: tapwire decode --spec type-1|FILE.json HEX|FILE|- [--json] [--unmasked]

  --json      as a document that tapwire encode reads; without --unmasked, card data in it is null
  --unmasked  show card data

A length header and a TPDU before the message are skipped.`;

/**
 * `tapwire decode`: shows an ISO 8583 message field by field, without card data. If the message does not decode, it
 * shows the fields before the fault and the fault; the exit code is then 1.
 */
async function runDecode(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { spec: text, json: flag, unmasked: flag });
  const bytes = readHexInput(words[0], DECODE_USAGE);
  const spec = await readSpec(values.spec);
  const decoded = readMessage(spec, bytes, values);
  if (values.json) printJson(decoded);
  else printText(decoded);
  return decoded.error === undefined ? 0 : 1;
}

function printJson({ skipped, message, fields, error }: ReadMessage): void {
  if (error !== undefined) {
    const { code, field, offset } = error;
    console.log(JSON.stringify({ error: { code, field, offset } }));
    return;
  }
  console.log(JSON.stringify({ skipped, message, fields }, null, 2));
}

function printText({ skipped, fields, error }: ReadMessage): void {
  const names = skipped.map(({ what, hex }) => `the ${what} ${hex}`);
  if (names.length > 0) console.log(`Skipped ${names.join(' and ')}.\n`);
  const lines = linesOf(fields);
  if (lines.length > 0) console.log(lines.join('\n'));
  if (error !== undefined) console.error(`\nDecoding stopped here: ${sentenceOf(error)}`);
}

export const decode = { USAGE: DECODE_USAGE, run: runDecode };

const ENCODE_USAGE =
  'usage: tapwire encode --spec type-1|FILE.json FILE.json|- [--json]        print the message as hex';

/**
 * `tapwire encode`: encodes a message, given as JSON by field names, as hex. Exit code 1 when it does not fit its
 * spec.
 */
async function runEncode(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { spec: text, json: flag });
  const [file] = words;
  if (file === undefined) throw new StartError('BAD_USAGE', ENCODE_USAGE);
  const spec = await readSpec(values.spec);
  try {
    const hex = encodeJson(spec, readJson(undefined, file));
    console.log(values.json ? JSON.stringify({ hex, lengthBytes: hex.length / 2 }) : hex);
    return 0;
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const { code, field } = error;
    if (values.json) console.log(JSON.stringify({ error: { code, field } }));
    else console.error(`The message cannot be encoded: ${sentenceOf(error)}${HINTS[code] ?? ''}`);
    return 1;
  }
}

const HINTS: Readonly<Partial<Record<Iso8583Error['code'], string>>> = {
  VALUE_WITHHELD: '. To encode a decoded message, decode it with --unmasked.',
};

export const encode = { USAGE: ENCODE_USAGE, run: runEncode };

const DIFF_USAGE = `usage: tapwire diff --spec type-1|FILE.json A B [--json] [--unmasked]

  A, B        each is hex, a file, or - for standard input
  --unmasked  show card data

Shows where two messages differ. Exit code 0: no difference; 3: some; 1: a message cannot be decoded.`;

/**
 * `tapwire diff`: shows where two messages differ. Exit code 0 for no difference, 3 for some, 1 when one does not
 * decode.
 */
async function runDiff(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { spec: text, json: flag, unmasked: flag });
  const [before, after] = [readHexInput(words[0], DIFF_USAGE), readHexInput(words[1], DIFF_USAGE)];
  const spec = await readSpec(values.spec);
  try {
    const differences = compareMessages(spec, before, after, values);
    console.log(values.json ? JSON.stringify(differences, null, 2) : tell(differences));
    return differences.length === 0 ? 0 : 3;
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    console.error(`One of the messages does not decode: ${sentenceOf(error)}`);
    return 1;
  }
}

function tell(differences: readonly Difference[]): string {
  if (differences.length === 0) return 'no difference';
  return differences
    .flatMap(({ path, name, before, after }) => [
      `${path}  ${name}`,
      `  - ${before?.value ?? '(absent)'}`,
      `  + ${after?.value ?? '(absent)'}`,
    ])
    .join('\n');
}

export const diff = { USAGE: DIFF_USAGE, run: runDiff };

const TLV_USAGE =
  'usage: tapwire tlv HEX|FILE|- [--json] [--opaque] [--unmasked]        name each tag and show its value';

/** `tapwire tlv`: BER-TLV data as a tree with tag names, without card data. Exit code 1 when it does not parse. */
async function runTlv(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { json: flag, opaque: flag, unmasked: flag });
  const bytes = readHexInput(words[0], TLV_USAGE);
  try {
    const index = indexTlv(bytes, { onBadChild: values.opaque ? 'opaque' : 'refuse' });
    const options = { unmasked: values.unmasked };
    console.log(
      values.json ? JSON.stringify(tlvRows(index, options), null, 2) : describeTlv(index, options).join('\n'),
    );
    return 0;
  } catch (error) {
    if (!(error instanceof TlvError)) throw error;
    if (values.json) console.log(JSON.stringify({ error: { code: error.code, offset: error.offset } }));
    else console.error(`not BER-TLV: ${error.message}`);
    return 1;
  }
}

export const tlv = { USAGE: TLV_USAGE, run: runTlv };
