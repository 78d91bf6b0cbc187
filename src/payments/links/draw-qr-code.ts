import { crc32, deflateSync } from 'node:zlib';
import QRCode from 'qrcode';

/** Light modules around the code that readers need (ISO/IEC 18004 9.1). */
const QUIET_MODULES = 4;
/**
 * A token is long and a screen shows the code clearly, so the least redundancy keeps the modules large. The choice
 * of mask matters for repeating patterns, which a token does not have. Trying all eight masks takes ten times as
 * long as the rest.
 */
const OPTIONS = { errorCorrectionLevel: 'L', maskPattern: 3 } as const;
/** Eight light pixels of a row. */
const LIGHT = 0xff;
/** Precedes each row (PNG 9.2). */
const NO_FILTER = 0;
/**
 * By default zlib allocates 256 KB for each picture. The garbage collector then searched the whole heap several
 * times a second, and no request received a response meanwhile. A window of one kilobyte covers several rows, which are
 * similar.
 */
const DEFLATE = { windowBits: 10, memLevel: 5, level: 3, chunkSize: 4_096 } as const;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Draws the QR code of a link as a PNG in a data URL. The package supplies the modules. Drawing them here, with one
 * bit per pixel, takes a twentieth of the time of the package's own images, for which taps would have to wait.
 *
 * @param size pixels of a side; if that is less than one per module, the image is larger
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

/** Makes `count` pixels of a row dark, starting at pixel `from`. */
function darken(lines: Buffer, lineOffset: number, from: number, count: number): void {
  for (let x = from; x < from + count; x++) lines[lineOffset + (x >> 3)]! &= ~(0x80 >> (x & 7));
}

/** A square greyscale PNG with one bit per pixel (PNG 11.2.2). */
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
