import { createRequire } from 'node:module';

/** The part of the package `tlv` that tests use; it has no types of its own. */
interface NpmTlv {
  parseAll(bytes: Buffer): NpmTlvObject[];
  /** Creates an object to encode: a value, or the objects of a template. */
  TLV: new (
    tag: number,
    value: Buffer | NpmTlvObject[],
  ) => NpmTlvObject;
}

export interface NpmTlvObject {
  readonly tag: number;
  readonly constructed: boolean;
  readonly value: Buffer | NpmTlvObject[];
  encode(): Buffer;
}

/** An oracle for tests and a baseline for benchmarks; never for bytes from outside (see the test next to this file). */
export const npmTlv: NpmTlv = createRequire(import.meta.url)('tlv');
