import { crc32, deflateSync } from 'node:zlib';
import QRCode from 'qrcode';

/** Light modules around the code that readers need (ISO/IEC 18004 9.1). */
const QUIET_MODULES = 4;
/**
 * A token is long and the screen that shows it is clean: the least redundancy keeps the modules large. Which mask is the best is
 * a question of pictures that repeat themselves; a token does not, and to try all eight takes ten times as long as the rest.
 */
const OPTIONS = { errorCorrectionLevel: 'L', maskPattern: 3 } as const;
/** Eight pixels of a line. */
const LIGHT = 0xff;
/** Stands in front of each line (PNG 9.2). */
const NO_FILTER = 0;
/**
 * What zlib takes unless told, 256 KB for each picture, made the garbage collector search the whole heap several times a second:
 * meanwhile nobody was answered. A kilobyte to look back on is enough for some lines, which are alike.
 */
const DEFLATE = { windowBits: 10, memLevel: 5, level: 3, chunkSize: 4_096 } as const;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * The QR code of a link as a PNG in a data URL. The package gives the modules; drawn here, with one bit for a pixel, they take a
 * twentieth of the time that its own images take. Taps would have to wait for it.
 *
 * @param size pixels of a side; where that is less than one for each module, the image is larger
 */
export function drawQrCode(url: string, size: number): string {
  const { modules } = QRCode.create([{ data: Buffer.from(url), mode: 'byte' }], OPTIONS);
  const count = modules.size + 2 * QUIET_MODULES;
  const scale = Math.max(1, Math.floor(size / count));
  const side = Math.max(size, count);
  const margin = Math.floor((side - modules.size * scale) / 2);
  const lineBytes = 1 + Math.ceil(side / 8);
  const lines = Buffer.alloc(side * lineBytes, LIGHT);
  for (let y = 0; y < side; y++) lines[y * lineBytes] = NO_FILTER;
  for (let row = 0; row < modules.size; row++) {
    const first = (margin + row * scale) * lineBytes;
    for (let column = 0; column < modules.size; column++) {
      if (modules.get(row, column) === 1) darken(lines, first + 1, margin + column * scale, scale);
    }
    for (let again = 1; again < scale; again++) lines.copyWithin(first + again * lineBytes, first, first + lineBytes);
  }
  return `data:image/png;base64,${encodePng(side, lines).toString('base64')}`;
}

/** Makes `count` pixels of a line dark, from its pixel `from` on. */
function darken(lines: Buffer, lineAt: number, from: number, count: number): void {
  for (let x = from; x < from + count; x++) lines[lineAt + (x >> 3)]! &= ~(0x80 >> (x & 7));
}

/** A square PNG of greyscale with one bit for a pixel (PNG 11.2.2). */
function encodePng(side: number, lines: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header[8] = 1;
  const data = deflateSync(lines, DEFLATE);
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** Length, type, data, and the CRC of the last two (PNG 5.3). */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}
