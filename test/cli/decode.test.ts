import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import { decode, diff, encode } from '../../src/cli/messages.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { decodeCaptured, messageFromJson, messageToJson } from '../../src/codecs/iso8583/message-inspection.ts';
import { messages } from '../iso8583/message-arbitrary.ts';
import { specs } from '../iso8583/specs.ts';
import { runHere } from '../support/run-here.ts';

const TPDU = [0x60, 0x00, 0x01, 0x00, 0x02];
const SALE = { mti: '0200', pan: '4111111111111111', processingCode: '000000', amount: '000000001000', stan: '000001' };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-decode-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const here = ({ run }: typeof decode, ...words: string[]) => runHere(run, words, {});

/** The ways in which captures show a message of `length` bytes, by name. */
const HEADERS: readonly (readonly [string, (length: number) => number[]])[] = [
  ['nothing', () => []],
  ['a length of two bytes', (length) => [length >> 8, length & 255]],
  ['a length of two bytes that counts itself', (length) => [(length + 2) >> 8, (length + 2) & 255]],
  ['a length of four bytes', (length) => [0, 0, length >> 8, length & 255]],
  ['a length of two bytes and two reserved ones', (length) => [length >> 8, length & 255, 0, 0]],
  ['a length of four ASCII digits', (length) => [...Buffer.from(String(length).padStart(4, '0'))]],
  ['a length of five ASCII digits', (length) => [...Buffer.from(String(length).padStart(5, '0'))]],
  ['a length of four BCD digits', (length) => [...Buffer.from(String(length).padStart(4, '0'), 'hex')]],
  ['a TPDU', () => TPDU],
  [
    'a BCD length and a TPDU',
    (length) => [...Buffer.from(String(length + TPDU.length).padStart(4, '0'), 'hex'), ...TPDU],
  ],
  ['a length and a TPDU', (length) => [(length + 5) >> 8, (length + 5) & 255, ...TPDU]],
];

describe.each([type1, type2])('tapwire decode with the spec of $type', ({ type, spec }) => {
  test.each(HEADERS)('reads a message behind %s', async (_what, headerOf) => {
    const bytes = compileSpec(spec).toBytes(SALE as never);
    const header = headerOf(bytes.length);
    const hex = toHex(Uint8Array.from([...header, ...bytes]));
    const { exitCode, stdout, stderr } = await here(decode, '--spec', type, hex);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('0200 (financial request');
    expect(stdout.startsWith('Skipped')).toBe(header.length > 0);
    if (header.length > 0) expect(stdout).toContain(toHex(Uint8Array.from(header.slice(0, 2))));
    expect((await here(diff, '--spec', type, hex, toHex(bytes))).exitCode).toBe(0);
  });

  test('gives JSON from which encode makes the same bytes', async () => {
    const bytes = compileSpec(spec).toBytes(SALE as never);
    const hex = toHex(bytes);
    const { stdout } = await here(decode, '--spec', type, '--json', '--unmasked', hex);
    const file = join(folder, `${type}.json`);
    writeFileSync(file, stdout);
    expect(await here(encode, '--spec', type, file)).toMatchObject({ exitCode: 0, stdout: `${hex}\n` });
  });

  test('withholds card data in JSON, and encode says why it cannot encode it', async () => {
    const bytes = compileSpec(spec).toBytes(SALE as never);
    const { stdout } = await here(decode, '--spec', type, '--json', toHex(bytes));
    expect(stdout).not.toContain(SALE.pan);
    expect(JSON.parse(stdout)).toMatchObject({ message: { mti: '0200', pan: null, amount: SALE.amount } });
    const file = join(folder, `${type}-masked.json`);
    writeFileSync(file, stdout);
    const { exitCode, stderr } = await here(encode, '--spec', type, file);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The message cannot be encoded: field 2 .*withheld\. .* decode it with --unmasked\.\n$/);
  });

  test('shows the fields before a fault behind a header', async () => {
    const bytes = compileSpec(spec)
      .toBytes(SALE as never)
      .subarray(0, -3);
    const hex = toHex(Uint8Array.from([0, bytes.length + 5, ...TPDU, ...bytes]));
    const { exitCode, stdout, stderr } = await here(decode, '--spec', type, hex);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Skipped the length header 00\w\w and the TPDU 6000010002\.\n\nmti /);
    expect(stdout).toContain('000000001000');
    expect(stderr).toContain('Decoding stopped here: field 11 ');
  });
});

describe.each(specs.map((spec) => ({ name: spec.name, spec })))('any message of the spec $name', ({ spec }) => {
  const codec = compileSpec(spec);

  test('survives a capture, JSON and encode with the same bytes', () => {
    const header = fc.constantFrom(...HEADERS.map(([, headerOf]) => headerOf));
    fc.assert(
      fc.property(messages(spec), header, (message, headerOf) => {
        // Without a valid MTI, nothing distinguishes a header from a message.
        const bytes = codec.toBytes({ ...message, mti: '0210' });
        const found = decodeCaptured(codec, Uint8Array.from([...headerOf(bytes.length), ...bytes]));
        const json = JSON.parse(JSON.stringify(messageToJson(spec, found.message!, { unmasked: true })));
        expect(toHex(codec.toBytes(messageFromJson(spec, json)))).toBe(toHex(bytes));
      }),
      { numRuns: 150 },
    );
  });
});
