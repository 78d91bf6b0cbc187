import { crc32, inflateSync } from 'node:zlib';
import QRCode from 'qrcode';
import { describe, expect, test } from 'vitest';
import { drawQrCode } from '../../src/payments/links/draw-qr-code.ts';

/** As long as the URL of a link with its token. */
const URL_OF_LINK = `https://pay.example/pay/6d9f6a3e-5a7c-4d0f-9b1e-0a4f6d2f7c11#${'eyJhbGciOiJFUzI1NiJ9.'.repeat(24)}`;
const QUIET = 4;

const modulesOf = (text: string) =>
  QRCode.create([{ data: Buffer.from(text), mode: 'byte' }], { errorCorrectionLevel: 'L', maskPattern: 3 });

interface Picture {
  readonly side: number;
  /** Whether a pixel is dark, by column and row. */
  readonly isDark: (x: number, y: number) => boolean;
}

/** Reads a PNG with one bit per pixel, and verifies it. */
function readPng(dataUrl: string): Picture {
  const [, base64] = /^data:image\/png;base64,([A-Za-z0-9+/]+=*)$/.exec(dataUrl)!;
  const png = Buffer.from(base64!, 'base64');
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const end = at + 8 + png.readUInt32BE(at);
    expect(png.readUInt32BE(end)).toBe(crc32(png.subarray(at + 4, end)));
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, end));
    at = end + 4;
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND']);
  const header = chunks.get('IHDR')!;
  const side = header.readUInt32BE(0);
  expect([header.readUInt32BE(4), ...header.subarray(8)]).toEqual([side, 1, 0, 0, 0, 0]);
  const lines = inflateSync(chunks.get('IDAT')!);
  const lineBytes = 1 + Math.ceil(side / 8);
  expect(lines).toHaveLength(side * lineBytes);
  return { side, isDark: (x, y) => ((lines[y * lineBytes + 1 + (x >> 3)]! >> (7 - (x & 7))) & 1) === 0 };
}

describe('the QR code of a link', () => {
  test.each([
    [128],
    [256],
    [512],
    [1_000],
    [1_024],
  ])('has %i pixels a side, each module complete, and a quiet zone', (size) => {
    const { modules } = modulesOf(URL_OF_LINK);
    const { side, isDark } = readPng(drawQrCode(URL_OF_LINK, size));
    expect(side).toBe(size);
    const scale = Math.floor(size / (modules.size + 2 * QUIET));
    const margin = Math.floor((size - modules.size * scale) / 2);
    expect(margin).toBeGreaterThanOrEqual(QUIET * scale);
    const wrong = [];
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        const [column, row] = [Math.floor((x - margin) / scale), Math.floor((y - margin) / scale)];
        const isInside = [column, row].every((each) => each >= 0 && each < modules.size);
        if (isDark(x, y) !== (isInside && modules.get(row, column) === 1)) wrong.push([x, y]);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is larger than requested if a module would have less than a pixel', () => {
    const long = `${URL_OF_LINK}${'x'.repeat(600)}`;
    const { modules } = modulesOf(long);
    expect(modules.size).toBeGreaterThan(92);
    expect(readPng(drawQrCode(long, 100)).side).toBe(modules.size + 2 * QUIET);
  });
});
