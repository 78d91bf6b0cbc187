import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { ArchiveError } from '../../basics/errors.ts';
import { renameForGood } from '../../basics/files/change-file.ts';

/** What a group of rows adds up to, in minor units. */
const total = z.strictObject({
  acquirerId: z.int(),
  currency: z.string().nullable(),
  type: z.int(),
  disposition: z.int().nullable(),
  rows: z.int(),
  amountMinor: z.int(),
  approvedMinor: z.int(),
  refundedMinor: z.int(),
});

const manifest = z.strictObject({
  format: z.literal('tapwire-transactions'),
  version: z.literal(1),
  /** YYYY-MM, by the time in the ids. */
  month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/),
  /** The columns of the file, in their order. */
  columns: z.array(z.string().regex(/^[a-z_]{1,63}$/)).max(200),
  rows: z.int(),
  /** SHA-256 of the CSV before its compression. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** By acquirer, currency, type and disposition, in this order. */
  totals: z.array(total).max(1_000_000),
  archivedAt: z.iso.datetime(),
});

export type Manifest = z.infer<typeof manifest>;
export type Total = Manifest['totals'][number];

/** A month has a thousand totals for each acquirer at most, and a manifest ten thousand acquirers at most. */
const MAX_MANIFEST_BYTES = 512 * 1024 * 1024;

export const csvOf = (folder: string, month: string) => join(folder, `transactions-${month}.csv.gz`);
const manifestOf = (folder: string, month: string) => join(folder, `transactions-${month}.json`);

/** Writes a CSV, compressed and flushed to the disk, under its final name only when it is complete. @returns its SHA-256 */
export async function writeCsv(csv: Readable, path: string): Promise<string> {
  const incomplete = `${path}.incomplete`;
  const { hash, pass } = hashing();
  await pipeline(csv, pass, createGzip(), createWriteStream(incomplete, { mode: 0o600 }));
  await flush(incomplete);
  await renameForGood(incomplete, path);
  return hash.digest('hex');
}

/** Reads a file from the disk again. @throws ArchiveError ARCHIVE_DAMAGED if its content is not that of the manifest */
export async function checkCsv(folder: string, { month, sha256 }: Pick<Manifest, 'month' | 'sha256'>): Promise<void> {
  const { hash, pass } = hashing();
  const path = csvOf(folder, month);
  await pipeline(createReadStream(path), createGunzip(), pass, drain()).catch((error: Error) => {
    throw new ArchiveError('ARCHIVE_DAMAGED', `${path} cannot be read: ${error.message}`);
  });
  if (hash.digest('hex') !== sha256)
    throw new ArchiveError('ARCHIVE_DAMAGED', `${path} is not the file of its manifest`);
}

/** The CSV of an archived month. */
export function readCsv(folder: string, month: string): Readable {
  return createReadStream(csvOf(folder, month)).pipe(createGunzip());
}

export async function writeManifest(folder: string, content: Manifest): Promise<void> {
  const path = manifestOf(folder, content.month);
  await writeFile(`${path}.incomplete`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await flush(`${path}.incomplete`);
  await renameForGood(`${path}.incomplete`, path);
}

/** @throws ArchiveError ARCHIVE_DAMAGED */
export async function readManifest(folder: string, month: string): Promise<Manifest> {
  const path = manifestOf(folder, month);
  const read = async () => {
    const file = await open(path);
    try {
      if ((await file.stat()).size > MAX_MANIFEST_BYTES) throw new Error('it is too large');
      return manifest.parse(JSON.parse(await readFile(file, 'utf8')));
    } finally {
      await file.close();
    }
  };
  const content = await read().catch((error: Error) => {
    throw new ArchiveError('ARCHIVE_DAMAGED', `${path} cannot be read: ${error.message}`);
  });
  if (content.month !== month) throw new ArchiveError('ARCHIVE_DAMAGED', `${path} is of the month ${content.month}`);
  return content;
}

function hashing() {
  const hash = createHash('sha256');
  const pass = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { hash, pass };
}

/** Reads to the end. */
function drain() {
  return async (chunks: AsyncIterable<unknown>) => {
    for await (const _ of chunks);
  };
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
