import { createCipheriv, createDecipheriv } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { prefixBytesOf } from '../../src/codecs/iso8583/network/framing.ts';
import { builtInEntries, loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { Processor } from '../../src/kits/processor-kit/processor.ts';
import { documentedMessages } from '../../src/tools/docs/processors/documented-messages.ts';
import { wireParts } from '../../src/tools/docs/processors/sample-bytes.ts';

/**
 * The pages of the processor types are specifications for others: their examples are checked here with Node's own
 * cryptography, as a reader in another language would, and not with the code that made them.
 */

const EMPTY = Buffer.alloc(0);
const ZEROS = Buffer.alloc(8);

function encrypt(name: string, key: Buffer, iv: Buffer, text: Buffer): Buffer {
  const cipher = createCipheriv(name, key, iv).setAutoPadding(false);
  return Buffer.concat([cipher.update(text), cipher.final()]);
}

/** CBC with an IV of zeros; a key of one or two parts is repeated to three. */
function lastCbcBlock(key: Buffer, text: Buffer): Buffer {
  const triple = Buffer.concat([key, key, key]).subarray(0, 24);
  return encrypt('des-ede3-cbc', triple, ZEROS, text).subarray(-8);
}

/** ANSI X9.19: DES in CBC mode, then the last block through the second half of the key and the first. */
function retailMac(key: Buffer, text: Buffer): Buffer {
  const [first, second] = [key.subarray(0, 8), key.subarray(8)];
  const decipher = createDecipheriv('des-ede3', Buffer.concat([second, second, second]), EMPTY);
  const inner = decipher.setAutoPadding(false).update(lastCbcBlock(first, text));
  return encrypt('des-ede3', Buffer.concat([first, first, first]), EMPTY, inner);
}

const MACS: Readonly<Record<string, (key: Buffer, text: Buffer) => Buffer>> = {
  'x9.9': lastCbcBlock,
  'tdes-cbc-mac': lastCbcBlock,
  'x9.19': retailMac,
};

const pageOf = (type: string) => readFileSync(new URL(`../../processors/${type}/README.md`, import.meta.url), 'utf8');

function sectionOf(type: string, name: string): string {
  return new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)<!-- /${name} -->`).exec(pageOf(type))![1]!;
}

/** The lines of a block as labels and bytes; a line without a label continues the one before it. */
function bytesByLabel(block: string): [label: string, bytes: Buffer][] {
  const found: [string, string][] = [];
  for (const line of block.split('\n').filter((each) => each !== '' && !each.startsWith('input as text'))) {
    const [label, hex] = [line.slice(0, 24).trim(), line.slice(24)];
    if (label === '') found.at(-1)![1] += hex;
    else found.push([label, hex]);
  }
  return found.map(([label, hex]) => [label, Buffer.from(hex, 'hex')]);
}

const macBlocksOf = (type: string) =>
  [...sectionOf(type, 'macs').matchAll(/```\n([\s\S]*?)```/g)].map(([, block]) => bytesByLabel(block!));

const processors = await loadProcessors();
const types = [...processors.values()].filter(({ type }) =>
  builtInEntries().some((entry) => entry.includes(`/${type}/`)),
);

describe.each(types)('the page of $name', (processor: Processor) => {
  const { type } = processor;

  test('computes its MACs as the description says', () => {
    const blocks = macBlocksOf(type);
    expect(blocks).toHaveLength(2);
    for (const [[, message], ...rest] of blocks as [[string, Buffer], ...[string, Buffer][]][]) {
      const input = rest[0]![0].startsWith('input, ') ? rest.shift()![1] : message;
      expect(rest.length).toBeGreaterThan(3);
      for (let at = 0; at < rest.length; at += 4) {
        const [key, padding, mac, field] = rest.slice(at, at + 4).map(([, bytes]) => bytes) as [Buffer, ...Buffer[]];
        const compute = MACS[rest[at]![0].replace(', key', '')]!;
        const padded = Buffer.concat([input, padding!]);
        expect([padded.length % 8, padding!.length < 8, padding!.some((byte) => byte !== 0)]).toEqual([0, true, false]);
        expect(compute(key, padded)).toEqual(mac);
        const sealed = processor.codec(processor.exampleConfig).decode(Buffer.concat([message, field!]));
        expect(Buffer.from((sealed.primaryMac ?? sealed.mac) as Uint8Array)).toEqual(field);
        expect(type === 'type-1' ? field!.subarray(1, 5) : field).toEqual(
          type === 'type-1' ? mac!.subarray(0, 4) : mac,
        );
      }
    }
  });

  test('has whole frames of its samples', () => {
    const blocks = sectionOf(type, 'frames').replaceAll('```', '').trim().split('\n\n');
    const samples = processor.samples.filter(({ config }) => config === undefined);
    expect(blocks.map((block) => block.split('\n', 1)[0])).toEqual(samples.map(({ name }) => `${name}:`));
    for (const [index, block] of blocks.entries()) {
      const frame = Buffer.from(block.replace(/^.*\n/, '').replaceAll('\n', ''), 'hex');
      expect(frame.readUInt16BE(0)).toBe(frame.length - 2);
      const message = processor.codec(processor.exampleConfig).decode(frame.subarray(prefixBytesOf(processor.framing)));
      const { mti, stan } = samples[index]!.message;
      expect(message).toMatchObject({ mti, stan });
    }
  });

  test('documents messages whose parts add up to their bytes', () => {
    const messages = documentedMessages(processor);
    for (const message of messages) expect(wireParts(processor.spec, message).length).toBeGreaterThan(2);
    expect(sectionOf(type, 'fields')).toContain(
      `| ${[...new Set(messages.map(({ mti }) => mti))].sort().join(' | ')} |`,
    );
  });
});

test('the input of a MAC of type 1 is the list of values with one space between them', () => {
  const [signOn, sale] = macBlocksOf('type-1').map((block) => block[1]![1].toString('latin1'));
  const absent = (count: number) => Array.from({ length: count }, () => '');
  expect(signOn).toBe(['0800', ...absent(3), '1120141005', '000127', ...absent(6), '001', '', ''].join(' '));
  const values = ['0200', '4111111111111111', '000000', '000000001234', '1120141005', '000123', '632414000123', '', ''];
  expect(sale).toBe([...values, 'T1'.padEnd(8), 'SHOP 7'.padEnd(15), '710', '', '', ''].join(' '));
});

test('each frame of type 2 has the MAC of its bytes after the TPDU', () => {
  const key = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex');
  for (const block of sectionOf('type-2', 'frames').replaceAll('```', '').trim().split('\n\n')) {
    const message = Buffer.from(block.replace(/^.*\n/, '').replaceAll('\n', ''), 'hex').subarray(7);
    const covered = message.subarray(0, -8);
    const padded = Buffer.concat([covered, Buffer.alloc((8 - (covered.length % 8)) % 8)]);
    expect(retailMac(key, padded).toString('hex')).toBe(message.subarray(-8).toString('hex'));
  }
});
