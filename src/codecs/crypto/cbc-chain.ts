import type { BlockKey } from './block-key.ts';

/**
 * Computes the last block of CBC with a zero IV for many messages over one open cipher: opening a cipher for each
 * message would double the cost of the AES-CMAC of an authorization (bench: mac). The cipher continues to chain from
 * the last message. XOR-ing that block into the first block of the next message cancels it, which leaves a zero IV.
 */
export class CbcChain {
  readonly #cipher;
  readonly #previous: Uint8Array;

  constructor(key: BlockKey) {
    this.#cipher = key.openCbc();
    this.#previous = new Uint8Array(key.blockBytes);
  }

  /**
   * @param blocks one or more whole blocks; the first is changed
   * @returns the last block of the ciphertext, a copy
   */
  lastBlock(blocks: Uint8Array): Uint8Array {
    const previous = this.#previous;
    for (let position = 0; position < previous.length; position++) blocks[position]! ^= previous[position]!;
    const ciphertext = this.#cipher.update(blocks);
    previous.set(ciphertext.subarray(ciphertext.length - previous.length));
    return new Uint8Array(previous);
  }
}
