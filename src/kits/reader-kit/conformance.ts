import { hash, randomBytes } from 'node:crypto';
import { READER_TAGS } from '#schemas/card-data';
import { HsmUnavailable, TlvError } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { encodeTlv } from '../../codecs/emv/tlv.ts';
import { CheckFailure, type ConformanceResult, expectEqual, expectThat } from '../plug-ins/check-failure.ts';
import { openBlobs } from './open-blobs.ts';
import {
  CardDataRefusal,
  type ReaderFormat,
  type ReaderKeys,
  type RequestBinding,
  type SampleKeys,
  type SampleReader,
  type SealedBlobs,
} from './reader-format.ts';
import { freshSampleKeys, type SampleKeyRing } from './sample-keys.ts';

const MERCHANT = { acquirerId: 1, merchantId: '1001' };
const BINDING: RequestBinding = {
  deviceInstallationId: '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11',
  merchantReference: 'order-4711',
  merchant: MERCHANT,
};
/** Test data without a card: a format treats all TLV alike. */
const GENERAL = encodeTlv([{ tag: 0x9f02, value: Buffer.from('000000001000', 'hex') }]);
const DIGEST = { tag: READER_TAGS.generalDigest, value: hash('sha256', GENERAL, 'buffer') };
const RANDOM_BLOBS = 300;
const MAX_RANDOM_BYTES = 400;

interface Subject {
  readonly format: ReaderFormat;
  readonly reader: SampleReader;
  readonly keys: ReaderKeys;
  /** The keys of all sample readers. */
  readonly ring: SampleKeys;
}

interface Check {
  readonly name: string;
  run(subject: Subject): Promise<void>;
}

const CHECKS: readonly Check[] = [
  {
    name: 'its settings are valid, and survive JSON',
    async run({ format, reader }) {
      const parsed = format.settingsSchema.safeParse(JSON.parse(JSON.stringify(reader.settings)));
      expectThat(parsed.success, 'the settings of the sample reader are not valid');
    },
  },
  {
    name: 'opens what its reader sealed, of every length',
    async run(subject) {
      for (const length of [0, 1, 7, 8, 15, 16, 17, 255, 2_000]) {
        const payment = paymentOf(length);
        const opened = await open(subject, subject.reader.seal(payment, BINDING));
        expectThat(Buffer.from(opened).equals(payment), `${length} bytes: opened to other bytes`);
      }
    },
  },
  {
    name: 'opens the same blob again, because a phone repeats a request whose response was lost',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      await open(subject, blob);
      await open(subject, blob);
    },
  },
  {
    name: 'seals the same data to other bytes each time',
    async run({ reader }) {
      const blobs = Array.from({ length: 3 }, () => toHex(reader.seal(paymentOf(40, 7), BINDING)));
      expectEqual(new Set(blobs).size, blobs.length, 'different blobs');
    },
  },
  {
    name: 'binds texts of every length and script',
    async run(subject) {
      for (const text of ['a', 'a'.repeat(128), 'Straße 7 / Köln', '注文-4711', '😀', ' ']) {
        const merchant = { acquirerId: 2_147_483_647, merchantId: text };
        const binding = { deviceInstallationId: `${text}1`, merchantReference: text, merchant };
        await open(subject, subject.reader.seal(paymentOf(40), binding), binding);
      }
    },
  },
  {
    name: 'refuses the blob of another device',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      for (const deviceInstallationId of ['other', `${BINDING.deviceInstallationId} `, '', 'é', 'e\u0301'])
        await expectRefused(subject, blob, 'for another device', { ...BINDING, deviceInstallationId });
    },
  },
  {
    name: 'refuses a replay: the blob of another reference',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      for (const merchantReference of ['order-4712', 'order-471', 'ORDER-4711', ''])
        await expectRefused(subject, blob, 'for another reference', { ...BINDING, merchantReference });
    },
  },
  {
    name: 'keeps device and reference apart',
    async run(subject) {
      const sealed = { ...BINDING, deviceInstallationId: 'ab', merchantReference: 'cd' };
      const blob = subject.reader.seal(paymentOf(40), sealed);
      for (const [deviceInstallationId, merchantReference] of [
        ['a', 'bcd'],
        ['abc', 'd'],
        ['cd', 'ab'],
      ] as const)
        await expectRefused(subject, blob, 'with a moved boundary', {
          ...BINDING,
          deviceInstallationId,
          merchantReference,
        });
    },
  },
  {
    name: 'opens for each merchant, or, if its reader binds the merchant, for no other and no other acquirer',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      for (const merchant of [
        { ...MERCHANT, merchantId: '1002' },
        { ...MERCHANT, merchantId: '' },
        { ...MERCHANT, merchantId: '1001 ' },
        { ...MERCHANT, acquirerId: 2 },
        { acquirerId: 11, merchantId: '001' },
      ])
        if (subject.reader.bindsMerchant)
          await expectRefused(subject, blob, 'for another merchant', { ...BINDING, merchant });
        else await open(subject, blob, { ...BINDING, merchant });
    },
  },
  {
    name: 'keeps merchant, device and reference apart, if its reader binds the merchant',
    async run(subject) {
      if (!subject.reader.bindsMerchant) return;
      const merchant = { ...MERCHANT, merchantId: 'ab' };
      const blob = subject.reader.seal(paymentOf(40), {
        merchant,
        deviceInstallationId: 'cd',
        merchantReference: 'ef',
      });
      for (const [merchantId, deviceInstallationId, merchantReference] of [
        ['a', 'bcd', 'ef'],
        ['abc', 'd', 'ef'],
        ['cd', 'ab', 'ef'],
        ['ef', 'cd', 'ab'],
      ] as const)
        await expectRefused(subject, blob, 'with a moved boundary', {
          merchant: { ...MERCHANT, merchantId },
          deviceInstallationId,
          merchantReference,
        });
    },
  },
  {
    name: 'refuses a blob that is bound to no merchant, if its settings require one',
    async run({ format, reader, keys, ring }) {
      if (!reader.bindsMerchant) return;
      for (const other of format.sampleReaders(ring))
        if (!other.bindsMerchant)
          await expectRefused({ format, reader, keys, ring }, other.seal(paymentOf(40), BINDING), 'without a merchant');
    },
  },
  {
    name: 'refuses a general blob for which the sealed one does not vouch',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      const other = encodeTlv([{ tag: 0x9f02, value: Buffer.from('000000000100', 'hex') }]);
      await expectRefused(subject, blob, 'with another amount', BINDING, other);
    },
  },
  {
    name: 'refuses the blob at every length but its own',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      for (let length = 0; length < blob.length; length++)
        await expectRefused(subject, blob.subarray(0, length), `cut to ${length} bytes`);
      for (const more of [[0], [0x20], [0x3d], [0x0a], [0xff]])
        await expectRefused(subject, Buffer.concat([blob, Buffer.from(more)]), `with a byte ${more[0]} at its end`);
    },
  },
  {
    name: 'refuses the blob with any bit changed, and with any byte replaced',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      for (let at = 0; at < blob.length; at++) {
        for (const mask of [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff]) {
          const changed = Buffer.from(blob);
          changed[at]! ^= mask;
          await expectRefused(subject, changed, `with byte ${at} changed by ${mask}`);
        }
      }
    },
  },
  {
    name: 'refuses random bytes, and its own blob with random bytes inside',
    async run(subject) {
      const blob = subject.reader.seal(paymentOf(40), BINDING);
      for (let count = 0; count < RANDOM_BLOBS; count++) {
        const noise = randomBytes(1 + (count % MAX_RANDOM_BYTES));
        await expectRefused(subject, noise, 'of random bytes');
        const at = Math.floor((blob.length * count) / RANDOM_BLOBS);
        const inserted = Buffer.concat([blob.subarray(0, at), noise, blob.subarray(at)]);
        await expectRefused(subject, inserted, `with ${noise.length} bytes inserted at ${at}`);
      }
    },
  },
  {
    name: 'refuses the blob of a reader with other keys',
    async run({ format, reader, keys, ring }) {
      const others = format.sampleReaders(freshSampleKeys().ofReaders);
      const other = others.find(({ name }) => name === reader.name);
      expectThat(other !== undefined, 'the readers of two sets of keys have different names');
      await expectRefused(
        { format, reader, keys, ring },
        other.seal(paymentOf(40), BINDING),
        'of a reader with other keys',
      );
    },
  },
  {
    name: 'uses only keys of the HSM that its settings name',
    async run({ format, reader, keys, ring }) {
      const named = format.keysNamedBy(reader.settings).map(({ keyId }) => keyId);
      const used: string[] = [];
      const watched: ReaderKeys = {
        agree: (name, ephemeral) => keys.agree(name, ephemeral),
        verifyDukptMac: (key, message, mac) => keys.verifyDukptMac(noted(used, key), message, mac),
        decipherDukpt: (key, ciphertext) => keys.decipherDukpt(noted(used, key), ciphertext),
      };
      await open({ format, reader, keys: watched, ring }, reader.seal(paymentOf(40), BINDING));
      const unnamed = used.filter((keyId) => !named.includes(keyId));
      expectEqual(unnamed.length, 0, 'keys that keysNamedBy does not name');
    },
  },
  {
    name: 'reports keys that do not respond as they report it, not as a fault of the blob',
    async run({ format, reader, ring }) {
      const silent = () => Promise.reject(new HsmUnavailable());
      const keys: ReaderKeys = { agree: silent, verifyDukptMac: silent, decipherDukpt: silent };
      const error = await errorOf({ format, reader, keys, ring }, reader.seal(paymentOf(40), BINDING));
      expectThat(error instanceof HsmUnavailable, 'an HSM that does not respond looks like a bad blob');
    },
  },
];

/**
 * Proves a reader format without a gateway: with each of its sample readers, and blobs that were bound elsewhere, cut,
 * changed or invented. Built-in and external formats pass the same suite.
 *
 * @param ring the keys of the readers and the installation's end of them
 */
export async function readerConformance(
  format: ReaderFormat,
  { ofReaders, ofInstallation }: SampleKeyRing = freshSampleKeys(),
): Promise<ConformanceResult[]> {
  const results: ConformanceResult[] = [];
  for (const reader of format.sampleReaders(ofReaders)) {
    const subject = { format, reader, keys: ofInstallation, ring: ofReaders };
    for (const { name: check, run } of CHECKS) {
      const why = await run(subject).then(() => undefined, reasonOf);
      results.push({ group: reader.name, check, passed: why === undefined, why });
    }
  }
  return results;
}

/** Of an error that is not the suite's, only the name is reported, because its message may quote card data. */
function reasonOf(error: unknown): string {
  if (error instanceof CheckFailure) return error.message;
  return error instanceof CardDataRefusal
    ? `refused: ${error.reason}`
    : `threw ${(error as Error)?.name ?? typeof error}`;
}

function paymentOf(length: number, fill?: number): Buffer {
  const value = fill === undefined ? randomBytes(length) : Buffer.alloc(length, fill);
  return Buffer.from(encodeTlv([{ tag: 0x9f10, value }, DIGEST]));
}

async function open(
  { format, reader, keys }: Subject,
  payment: Uint8Array,
  binding = BINDING,
  general: Uint8Array = GENERAL,
): Promise<Uint8Array> {
  const blobs: SealedBlobs = { general, payment };
  return (await openBlobs(format, blobs, { settings: reader.settings, keys, binding })).bytes.payment;
}

async function errorOf(
  subject: Subject,
  ...blob: Parameters<typeof open> extends [Subject, ...infer Rest] ? Rest : never
) {
  return open(subject, ...blob).then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function expectRefused(
  subject: Subject,
  payment: Uint8Array,
  what: string,
  binding = BINDING,
  general: Uint8Array = GENERAL,
): Promise<void> {
  const error = await errorOf(subject, payment, binding, general);
  expectThat(error !== undefined, `opened a blob ${what}`);
  const isRefusal = error instanceof CardDataRefusal || error instanceof TlvError;
  expectThat(isRefusal, `threw ${(error as Error).name} for a blob ${what}, instead of a CardDataRefusal`);
}

function noted<Key extends { readonly keyId: string }>(used: string[], key: Key): Key {
  used.push(key.keyId);
  return key;
}
