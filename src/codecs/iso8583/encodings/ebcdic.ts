import { fromHex } from '../../bytes/hex.ts';

/** Code pages of EBCDIC that switches use: 500 international, 1047 open systems. Each maps one to one onto ISO 8859-1. */
export type EbcdicPage = 'cp500' | 'cp1047';

const CP500 = fromHex(
  '000102039C09867F978D8E0B0C0D0E0F101112139D8508871819928F1C1D1E1F' +
    '80818283840A171B88898A8B8C050607909116939495960498999A9B14159E1A' +
    '20A0E2E4E0E1E3E5E7F15B2E3C282B2126E9EAEBE8EDEEEFECDF5D242A293B5E' +
    '2D2FC2C4C0C1C3C5C7D1A62C255F3E3FF8C9CACBC8CDCECFCC603A2340273D22' +
    'D8616263646566676869ABBBF0FDFEB1B06A6B6C6D6E6F707172AABAE6B8C6A4' +
    'B57E737475767778797AA1BFD0DDDEAEA2A3A5B7A9A7B6BCBDBEAC7CAFA8B4D7' +
    '7B414243444546474849ADF4F6F2F3F57D4A4B4C4D4E4F505152B9FBFCF9FAFF' +
    '5CF7535455565758595AB2D4D6D2D3D530313233343536373839B3DBDCD9DA9F',
);

/** The characters by which code page 1047 differs from 500: its byte -> ISO 8859-1. */
const CP1047_DIFFERENCES: readonly (readonly [number, number])[] = [
  [0x4a, 0xa2],
  [0x4f, 0x7c],
  [0x5a, 0x21],
  [0xad, 0x5b],
  [0xb0, 0xac],
  [0xba, 0xdd],
  [0xbb, 0xa8],
  [0xbd, 0x5d],
];

/** EBCDIC byte -> character code of ISO 8859-1. */
export const EBCDIC_TO_LATIN1: Readonly<Record<EbcdicPage, Uint8Array>> = { cp500: CP500, cp1047: cp1047() };

/** Character code of ISO 8859-1 -> EBCDIC byte. */
export const LATIN1_TO_EBCDIC: Readonly<Record<EbcdicPage, Uint8Array>> = {
  cp500: inverse(EBCDIC_TO_LATIN1.cp500),
  cp1047: inverse(EBCDIC_TO_LATIN1.cp1047),
};

function cp1047(): Uint8Array {
  const table = new Uint8Array(CP500);
  for (const [byte, character] of CP1047_DIFFERENCES) table[byte] = character;
  return table;
}

function inverse(table: Uint8Array): Uint8Array {
  const inverted = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) inverted[table[byte]!] = byte;
  return inverted;
}
