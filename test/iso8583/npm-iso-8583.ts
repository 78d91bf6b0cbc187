import { createRequire } from 'node:module';

/** Fields by number: `{ 0: '0200', 2: …, '127.2': … }`, binary ones in hex. */
export type NpmFields = Record<string, string>;

/** What it returns instead of throwing. */
export interface NpmRefusal {
  readonly error: string;
}

/** The part of the package `iso_8583` that tests use; it models the dialect of type 1. */
interface NpmMessage {
  getIsoJSON(bytes: Buffer, config: { readonly lenHeader: false }): NpmFields | NpmRefusal;
  getRawMessage(): Buffer | NpmRefusal;
}

const NpmIso8583 = createRequire(import.meta.url)('iso_8583') as new (fields?: NpmFields) => NpmMessage;

/** An oracle for tests and a baseline for benchmarks; the tests next to this file list where it is wrong. */
export function npmDecode(bytes: Uint8Array): NpmFields | NpmRefusal {
  return new NpmIso8583().getIsoJSON(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), { lenHeader: false });
}

/** The package writes subfields of DE127 into the given object, so it gets a copy. */
export function npmEncode(fields: NpmFields): Buffer | NpmRefusal {
  return new NpmIso8583({ ...fields }).getRawMessage();
}
