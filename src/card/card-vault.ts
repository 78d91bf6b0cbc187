/**
 * Seals the card data that reversal and refund need. The data are sealed to their transaction, under keys with no
 * other use.
 */
import { createHmac } from 'node:crypto';
import { SealError } from '../basics/errors.ts';
import { LruMap } from '../codecs/bytes/lru-map.ts';
import type { CardVault, ChipUse, KeptCard } from '../payments/ports/card-ports.ts';
import type { SingleUse } from '../payments/ports/store-ports.ts';
import { decodeKeptCard, encodeKeptCard } from './kept-card.ts';
import type { KeyRing, SecretKeys } from './key-ring.ts';
import type { NamedSecretKey } from './opened-keys.ts';
import { openBytes, sealBytes } from './seal-bytes.ts';

/**
 * More than one process has in progress at once, or shows on pages that are read again. An expiry date without its
 * PAN needs no protection (PCI DSS 3.3).
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
export interface SearchableCardVault extends CardVault {
  /** The hashes of a PAN under every key of the ring, newest first: rows from before a rotation have an older one. */
  panHashes(pan: string): string[];
}

/**
 * Creates a vault over the keys of an installation. The hash of a PAN is `<key id>:<HMAC-SHA-256 over all its
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
