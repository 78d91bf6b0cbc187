import { createRequire } from 'node:module';

/** The part of the package `jspos`, a port of jPOS, that benchmarks use; it has no types of its own. */
interface Jspos {
  readonly packer: Readonly<Record<string, new (length: number, description: string) => object>>;
  readonly ISOBasePackager: new () => { setFieldPackager(fields: object[]): void; createISOMsg(): JsposMessage };
}

interface JsposMessage {
  setMTI(mti: string): void;
  setField(number: number, value: string): void;
  pack(): Uint8Array;
  unpack(bytes: Uint8Array): void;
}

const { packer, ISOBasePackager } = createRequire(import.meta.url)('jspos') as Jspos;

/** Fixed n fields of type 1 in the benchmark message: number and digits. */
const NUMERIC = {
  0: 4,
  3: 6,
  4: 12,
  7: 10,
  11: 6,
  12: 6,
  13: 4,
  14: 4,
  18: 4,
  22: 3,
  23: 3,
  25: 2,
  26: 2,
  40: 3,
  49: 3,
};
const TEXT = { 37: 12, 41: 8, 42: 15, 43: 40 };
const LL = { 2: 19, 32: 11, 35: 37 };
const LLL = { 56: 4, 123: 15 };

const fields = new Array<object>(129).fill(new packer.IF_CHAR!(1, 'unused'));
fields[1] = new packer.IFB_BITMAP!(16, 'bitmap');
fields[52] = new packer.IFB_BINARY!(8, 'PIN block');
place('IFA_NUMERIC', NUMERIC);
place('IF_CHAR', TEXT);
place('IFA_LLCHAR', LL);
place('IFA_LLLCHAR', LLL);
const packager = new ISOBasePackager();
packager.setFieldPackager(fields);

function place(kind: string, lengths: Readonly<Record<number, number>>): void {
  for (const [number, length] of Object.entries(lengths)) {
    fields[Number(number)] = new packer[kind]!(length, `field ${number}`);
  }
}

/** It has no composite for DE127, so its message omits it, which is in its favour. */
export function jsposEncode(values: Readonly<Record<string, string>>): Uint8Array {
  const message = packager.createISOMsg();
  for (const [number, value] of Object.entries(values)) {
    if (number === '0') message.setMTI(value);
    else if (!number.startsWith('127')) message.setField(Number(number), value);
  }
  return message.pack();
}

export function jsposDecode(bytes: Uint8Array): JsposMessage {
  const message = packager.createISOMsg();
  message.unpack(bytes);
  return message;
}
