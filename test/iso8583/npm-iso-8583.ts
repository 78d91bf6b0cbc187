import { createRequire } from 'node:module';

/** Fields by number: `{ 0: '0200', 2: …, '127.2': … }`, binary ones in hex. */
export type NpmFields = Record<string, string>;

/** What it answers instead of throwing. */
export interface NpmRefusal {
  readonly error: string;
}

/** What we use of the package `iso_8583`, which models the dialect of our type 1. */
interface NpmMessage {
  getIsoJSON(bytes: Buffer, config: { readonly lenHeader: false }): NpmFields | NpmRefusal;
  getRawMessage(): Buffer | NpmRefusal;
}

const NpmIso8583 = createRequire(import.meta.url)('iso_8583') as new (fields?: NpmFields) => NpmMessage;

/** An oracle for tests and a baseline for benches; where it is wrong is in the tests beside this file. */
export function npmDecode(bytes: Uint8Array): NpmFields | NpmRefusal {
  return new NpmIso8583().getIsoJSON(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), { lenHeader: false });
}

/** The package writes subfields of DE127 into the object it is given, so it gets a copy. */
export function npmEncode(fields: NpmFields): Buffer | NpmRefusal {
  return new NpmIso8583({ ...fields }).getRawMessage();
}
