import { CryptoError, KeyExchangeError } from '../../basics/errors.ts';
import type { Hsm } from '../../codecs/crypto/hsm.ts';
import { type IsoMessage, messageClass } from '../../kits/processor-kit/iso-fields.ts';
import { candidateKeys, MacLayout, type MacVerdict, recordMacVerdict } from '../../kits/processor-kit/mac-layout.ts';
import { macMethodOf, messageCodec } from '../../kits/processor-kit/message-codec.ts';
import type { MessageCodec, Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { SealingCodec } from '../../kits/processor-kit/switch-protocol.ts';

/** The class of network management messages. */
const NETWORK = '8';

/** The longest message of any dialect. */
const MAX_MESSAGE_BYTES = 16_384;

/** A MAC key in the HSM, with the number that identifies it in messages. */
export interface MacKeyId {
  readonly number: number;
  readonly keyId: string;
}

/** The MAC keys that are currently valid. The first one makes MACs; each can verify them. */
export interface MacKeyIds {
  readonly keys: readonly MacKeyId[];
  /** The key for the MAC of a message; undefined if the switch may have none of them. Absent: the first one. */
  maker?(isNetworkMessage: boolean): MacKeyId | undefined;
}

/** The part of the HSM that authenticates messages. */
export type MacHsm = Pick<Hsm, 'mac' | 'verifyMac'>;

/** The codec of one switch as the gateway uses it, with the keys of the MACs in the HSM. */
export interface HsmCodec extends SealingCodec {
  /** Encodes a message without its MAC, to learn whether it can be sent. @throws Iso8583Error as `encode` */
  readonly encodeUnsealed: MessageCodec['encode'];
}

/**
 * The codec of one switch whose MAC keys are in the HSM. A message is encoded twice: once for the HSM, which needs the
 * bytes, and once into the buffer of its connection. Therefore a message is encoded, checked against its deadline and
 * written in one turn of the event loop, however long the HSM takes.
 *
 * A received message is not trusted until `judgeMac` has checked it.
 *
 * @param hsm undefined if the installation has none
 * @throws PlugInError `PLUG_IN_INVALID` if keys are configured and the dialect has no MAC, or there is no HSM
 */
export function hsmCodec(
  processor: Processor,
  config: SwitchConfig,
  hsm: MacHsm | undefined,
  live: MacKeyIds = { keys: config.macKeys ?? [] },
): HsmCodec {
  const { mac: rule } = processor;
  if (config.macKeys === undefined || rule === undefined || hsm === undefined) {
    const codec = messageCodec(processor, config);
    const encode: MessageCodec['encode'] = (message, target, offset) => codec.encode(message, target, offset);
    return { encode, encodeUnsealed: encode, decode: (bytes, start, end) => codec.decode(bytes, start, end) };
  }
  const codec = processor.codec(config);
  const layout = new MacLayout(rule, codec, codec.spec ?? processor.spec);
  const method = macMethodOf(rule, config);
  const lengthBytes = rule.macBytes;
  const scratch = new Uint8Array(MAX_MESSAGE_BYTES);

  /** A copy, because other messages are encoded while the HSM computes. The scratch buffer keeps no card data. */
  const coveredBytes = (message: IsoMessage): Uint8Array => {
    try {
      const end = layout.encodeBlank(message, scratch, 0);
      return layout.covered(message, scratch, 0, end).slice();
    } finally {
      scratch.fill(0);
    }
  };

  const judge = async (message: IsoMessage, bytes: Uint8Array, start: number, end: number): Promise<MacVerdict> => {
    const received = layout.read(message);
    const candidates = received && candidateKeys(received, live.keys);
    if (!candidates?.length) return 'unverifiable';
    const { mac, isWellFormed } = received!;
    if (!isWellFormed) return 'bad';
    const covered = layout.covered(message, bytes, start, end).slice();
    for (const { keyId } of candidates) {
      if (await hsm.verifyMac({ keyId, method, message: covered, lengthBytes, mac })) return 'good';
    }
    return 'bad';
  };

  return {
    spec: codec.spec,
    encodeUnsealed: (message, target, offset) => layout.encodeBlank(message, target, offset),
    async seal(message) {
      const key = live.maker ? live.maker(messageClass(message) === NETWORK) : live.keys[0];
      if (key === undefined) throw new KeyExchangeError('NO_KEY', { detail: 'mac' });
      const { number, keyId } = key;
      const covered = coveredBytes(message);
      try {
        layout.put(message, number, await hsm.mac({ keyId, method, message: covered, lengthBytes }));
      } finally {
        covered.fill(0);
      }
    },
    encode(message, target, offset) {
      if (!layout.isSealed(message)) throw new Error('A message without MAC must not be sent');
      return codec.encode(message, target, offset);
    },
    decode(bytes, start = 0, end = bytes.length) {
      const message = codec.decode(bytes, start, end);
      recordMacVerdict(message, 'unverifiable', () => judge(message, bytes, start, end));
      return message;
    },
  };
}

/** The length of one block of TDES. */
const TRIAL = new Uint8Array(8);

/**
 * Computes a MAC of zeros and verifies it. A key that the HSM does not have, that does not fit the algorithm or that may only
 * make MACs is refused before a message needs it: an approval whose MAC cannot be verified would be reversed.
 *
 * @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_LENGTH
 */
export async function tryMacKey(
  { mac: rule }: Processor,
  config: SwitchConfig,
  hsm: MacHsm,
  keyId: string,
): Promise<void> {
  if (rule === undefined) return;
  const request = { keyId, method: macMethodOf(rule, config), message: TRIAL, lengthBytes: rule.macBytes };
  const mac = await hsm.mac(request);
  if (!(await hsm.verifyMac({ ...request, mac }))) throw new CryptoError('KEY_USAGE');
}
