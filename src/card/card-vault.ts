import { createHmac } from 'node:crypto';
import { SealError } from '../basics/errors.ts';
import { LruMap } from '../codecs/bytes/lru-map.ts';
import type { Mandate } from '../payments/model/link.ts';
import type { SingleUse } from '../payments/ports/store-ports.ts';
import type { CardVault, ChipUse, KeptCard } from '../payments/ports/switch-ports.ts';
import type { KeyRing, NamedSecretKey, SecretKeys } from './key-ring.ts';
import { openBytes, sealBytes } from './seal-bytes.ts';

/**
 * The first of the bytes of a kept card before they are sealed. PAN, expiry, and the fields of its original follow, each
 * as a name and a value. A common name takes one byte. As JSON, the names took half of the 540 bytes of a sale, which
 * every change of a transaction's row copies. Another format would have another byte.
 */
const FORMAT = 1;

/** A name's code is its position here plus one. Stored cards have these codes: only append. */
const COMMON_NAMES = [
  'mti',
  'pan',
  'processingCode',
  'amount',
  'transmissionDateTime',
  'stan',
  'localTime',
  'localDate',
  'expiry',
  'merchantCategory',
  'posEntryMode',
  'panSequence',
  'posCondition',
  'acquirerId',
  'forwarderId',
  'rrn',
  'tid',
  'mid',
  'acceptorNameLocation',
  'currency',
  'posDataCode',
  'networkId',
];

const CODES: ReadonlyMap<string, number> = new Map(COMMON_NAMES.map((name, n) => [name, n + 1]));
/** The code of a name that is not common: the name follows as text. */
const OTHER_NAME = 0;
/** Size of the length that precedes a text. */
const LENGTH_BYTES = 2;
/** The fields that a reversal repeats (DE43 and the chip's tags are the longest) stay under 2 KB. */
const MAX_CHARACTERS = 8_192;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const MAX_UTF8 = 3;

/** The caller zeroes the bytes. @throws {SealError} TOO_LARGE */
function encodeKeptCard({ pan, expiry, original }: KeptCard): Buffer {
  // A processor in plain JavaScript may name a field that its message lacks.
  const fields = Object.entries(original).filter(([, value]) => value !== undefined);
  const texts = fields.reduce((sum, [name, value]) => sum + name.length + value.length, pan.length + expiry.length);
  if (texts > MAX_CHARACTERS) throw new SealError('TOO_LARGE');
  const bytes = Buffer.allocUnsafe(1 + texts * MAX_UTF8 + (2 + 2 * fields.length) * LENGTH_BYTES + fields.length);
  let end = bytes.writeUInt8(FORMAT, 0);
  end = writeText(bytes, pan, end);
  end = writeText(bytes, expiry, end);
  for (const [name, value] of fields) {
    const code = CODES.get(name) ?? OTHER_NAME;
    end = bytes.writeUInt8(code, end);
    if (code === OTHER_NAME) end = writeText(bytes, name, end);
    end = writeText(bytes, value, end);
  }
  return bytes.subarray(0, end);
}

/** Returns undefined for bytes that are no kept card. */
function decodeKeptCard(bytes: Buffer): KeptCard | undefined {
  if (bytes[0] !== FORMAT) return undefined;
  try {
    return readFields(bytes);
  } catch {
    return undefined;
  }
}

function readFields(bytes: Buffer): KeptCard {
  let offset = 1;
  const text = () => {
    const start = offset + LENGTH_BYTES;
    offset = start + bytes.readUInt16BE(offset);
    if (offset > bytes.length) throw new RangeError('text beyond the end');
    return bytes.toString('utf8', start, offset);
  };
  const pan = text();
  const expiry = text();
  const original: [string, string][] = [];
  while (offset < bytes.length) {
    const code = bytes[offset++]!;
    const name = code === OTHER_NAME ? text() : COMMON_NAMES[code - 1];
    if (name === undefined) throw new RangeError('unknown name');
    original.push([name, text()]);
  }
  return { pan, expiry, original: Object.fromEntries(original) };
}

/** @returns the offset behind it */
function writeText(bytes: Buffer, text: string, offset: number): number {
  const start = offset + LENGTH_BYTES;
  const length = bytes.write(text, start);
  bytes.writeUInt16BE(length, offset);
  return start + length;
}

/**
 * Number of expiry dates that a process keeps in memory: more than it has transactions in progress, or shows on pages that
 * people read again. An expiry date without its PAN needs no protection (PCI DSS 3.3).
 */
const MAX_REMEMBERED_EXPIRIES = 8_192;

/**
 * How long after a process saw a new hash key it also records taps under the key before it. A process that does not have
 * the new key file yet knows only that one.
 */
const BOTH_KEYS_MS = 24 * 60 * 60 * 1_000;
/** The length of 9A: the date of a tap begins its hash, so that the taps of a day are neighbours in their index. */
const DATE_BYTES = 3;
const USE_BYTES = 16;
const NONE = new Uint8Array(0);

/** The vault, with a search that covers rotations of the hash key. */
interface SearchableCardVault extends CardVault {
  /** The hashes of a PAN under every key of the ring, newest first: rows from before a rotation have an older one. */
  panHashes(pan: string): string[];
}

/**
 * Creates a vault over the keys of an installation. It seals the card data that reversal and refund need, to their
 * transaction, under keys with no other use. The hash of a PAN is `<key id>:<HMAC-SHA-256 over all its
 * digits, Base64url>`.
 */
export function createCardVault(
  { panSealing, panHash }: Pick<KeyRing, 'panSealing' | 'panHash'>,
  monotonicMs: () => number = () => performance.now(),
): SearchableCardVault {
  // The response to the phone contains the expiry date: a sale that this process sealed recently need not be opened
  // for it.
  const sealed = new LruMap<string, string>(MAX_REMEMBERED_EXPIRIES);
  // Separate, so that reading lists does not slow down taps. Opening the 100 rows of a page takes 2 ms.
  const opened = new LruMap<string, string>(MAX_REMEMBERED_EXPIRIES);
  const openExpiry = (transactionId: string, bytes: Uint8Array) => {
    const { expiry } = open(panSealing, transactionId, bytes);
    opened.set(transactionId, expiry);
    return expiry;
  };
  let current = { id: '', seenAtMs: 0 };
  const usesOf = (chip: ChipUse): SingleUse[] => {
    const keys = panHash.all;
    if (current.id !== keys[0]!.id) current = { id: keys[0]!.id, seenAtMs: monotonicMs() };
    const recorded = keys.length > 1 && monotonicMs() - current.seenAtMs < BOTH_KEYS_MS ? 2 : 1;
    return keys.map((key, n) => ({ hash: hashUse(key, chip), ...(n >= recorded && { isOnlySought: true }) }));
  };
  return {
    usesOf,
    seal: (transactionId, card) => {
      sealed.set(transactionId, card.expiry);
      return seal(panSealing, transactionId, card);
    },
    open: (transactionId, bytes) => open(panSealing, transactionId, bytes),
    expiryOf: (transactionId, bytes) =>
      sealed.get(transactionId) ?? opened.get(transactionId) ?? openExpiry(transactionId, bytes),
    hashPan: (pan) => hashPan(panHash.current, pan),
    isHashOf: (hash, pan) => isHashOf(panHash, hash, pan),
    panHashes: (pan) => panHash.all.map((key) => hashPan(key, pan)),
  };
}

/** @throws {SealError} TOO_LARGE */
function seal(keys: SecretKeys, transactionId: string, card: KeptCard): Buffer {
  return sealBytes(keys, { purpose: 'card', owner: transactionId }, encodeKeptCard(card));
}

/**
 * @throws {SealError} KEY_GONE if its key is no longer in the ring, SEAL_BROKEN if the value was changed, moved from
 * another transaction or never was a sealed card
 */
function open(keys: SecretKeys, transactionId: string, sealed: Uint8Array): KeptCard {
  const card = readCard(openBytes(keys, { purpose: 'card', owner: transactionId }, sealed));
  if (card === undefined) throw new SealError('SEAL_BROKEN');
  return card;
}

/** Zeroes the plaintext. */
function readCard(plaintext: Buffer): KeptCard | undefined {
  try {
    return decodeKeptCard(plaintext);
  } finally {
    plaintext.fill(0);
  }
}

/** Uses the key that the hash names; false if that key no longer exists. */
function isHashOf(keys: SecretKeys, hash: string, pan: string): boolean {
  const key = keys.find(hash.split(':', 1)[0]!);
  return key !== undefined && hashPan(key, pan) === hash;
}

/** A plain hash would reveal the PAN: there are few enough PANs to try them all. */
function hashPan({ id, key }: NamedSecretKey, pan: string): string {
  return `${id}:${createHmac('sha256', key).update(pan).digest('base64url')}`;
}

/**
 * The date (9A), then as much of an HMAC as there is room for. The input begins with a letter, so it is never that of a PAN
 * alone. Of the parts, only the counter may be absent; the length of each is fixed.
 */
function hashUse({ key }: NamedSecretKey, { pan, date, counter = NONE, cryptogram = NONE }: ChipUse): string {
  const hmac = createHmac('sha256', key).update(`tap ${pan} `).update(cryptogram).update(counter);
  const use = Buffer.alloc(USE_BYTES);
  if (date?.length === DATE_BYTES) use.set(date);
  hmac.digest().copy(use, DATE_BYTES);
  return use.toString('hex');
}

const PURPOSE = 'mandate';

/**
 * Stores mandates encrypted. They name a person and an account, so they are sealed to their link; no search uses
 * them.
 */
export interface MandateVault {
  seal(linkId: string, mandate: Mandate): Uint8Array;
  /** @throws SealError KEY_GONE, SEAL_BROKEN */
  open(linkId: string, sealed: Uint8Array): Mandate;
}

/**
 * Keys are derived separately for each purpose, so the keys that seal the secrets of webhooks can seal mandates,
 * too.
 */
export function createMandateVault({ webhookSealing }: Pick<KeyRing, 'webhookSealing'>): MandateVault {
  return {
    seal: (owner, mandate) =>
      sealBytes(webhookSealing, { purpose: PURPOSE, owner }, Buffer.from(JSON.stringify(mandate))),
    open: (owner, sealed) => JSON.parse(openBytes(webhookSealing, { purpose: PURPOSE, owner }, sealed).toString()),
  };
}
