import type { BlockKey } from './block-key.ts';

/**
 * The last block of CBC with a zero IV, for one message after another over one open cipher: opening one for each message
 * costs as much again as the AES-CMAC of an authorization (bench: mac). The cipher goes on chaining where the last
 * message ended; mixing that block into the first of the next message cancels it, which leaves a zero IV.
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
