import { toHex } from '../../src/codecs/bytes/hex.ts';
import { compileJpos, missingForJpos } from '../interop/compile-jpos.ts';
import { Peer } from '../interop/peer.ts';
import type { Measurement } from './measure.ts';

/** A message that jPOS measures, by the packager that reads it: `type-1`, `iso87b`. */
export interface JposSubject {
  readonly label: string;
  readonly packager: string;
  readonly bytes: Uint8Array;
}

/** Times of jPOS in this run, in a process of its own; none if Java or Maven is missing. */
export async function jposTimes(subjects: readonly JposSubject[]): Promise<Measurement[]> {
  const missing = missingForJpos();
  if (missing !== undefined) {
    console.log(`jPOS is not measured: "${missing}" is not installed`);
    return [];
  }
  const { classPath, remove } = compileJpos();
  const peer = new Peer(classPath);
  const measured: Measurement[] = [];
  try {
    for (const { label, packager, bytes } of subjects) {
      const times = (await peer.ask('time', packager, toHex(bytes))).split('\t').map(Number);
      for (const [name, at] of [
        ['decode', 0],
        ['encode', 2],
      ] as const) {
        const [nsPerOp, medianNsPerOp] = [times[at]!, times[at + 1]!];
        measured.push({ name: `${name} ${label}, jPOS`, nsPerOp, medianNsPerOp, bytesPerOp: undefined });
      }
    }
  } finally {
    peer.close();
    remove();
  }
  return measured;
}
