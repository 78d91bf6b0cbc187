import { parseArgs } from 'node:util';
import { TlvError } from '../basics/errors.ts';
import { describeTlv, tlvRows } from '../codecs/emv/describe-tlv.ts';
import { indexTlv } from '../codecs/emv/tlv.ts';
import { flag } from './output.ts';
import { readHexInput } from './read-input.ts';

export const USAGE =
  'usage: tapwire tlv HEX|FILE|- [--json] [--opaque] [--unmasked]        name each tag and show its value';

/** `tapwire tlv`: BER-TLV data as a tree with tag names, without card data. Exit code 1 when it does not parse. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: flag,
      opaque: flag,
      unmasked: flag,
    },
  });
  const bytes = readHexInput(positionals[0], USAGE);
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
