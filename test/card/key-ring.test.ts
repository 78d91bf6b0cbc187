import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importJWK, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cardDataKeySet } from '../../schemas/card-data.ts';
import { StartError } from '../../src/basics/errors.ts';
import { createKeyRing } from '../../src/card/change-key-ring.ts';
import { readKeyRing } from '../../src/card/key-ring.ts';
import type { KeyRingFile, PrivateJwk } from '../../src/card/key-ring-file.ts';

type JwkOf<Type extends PrivateJwk['kty']> = Extract<PrivateJwk, { kty: Type }>;
type Secrets = { id: string; secret: string }[];
/** A file whose keys are all its own. */
interface OwnKeys extends Record<Exclude<keyof KeyRingFile, 'cardData' | 'tokenSigning'>, Secrets> {
  cardData: { kid: string; privateKey: PrivateJwk; retireAt?: string }[];
  tokenSigning: { kid: string; privateKey: JwkOf<'EC'> }[];
}

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tapwire-key-ring-'));
  path = join(folder, 'keys.json');
});
afterEach(() => rm(folder, { recursive: true }));

/** The generated file, changed by the test. */
async function changedFile(change: (file: OwnKeys) => void): Promise<string> {
  await createKeyRing(path);
  const file = JSON.parse(await readFile(path, 'utf8')) as OwnKeys;
  change(file);
  await writeFile(path, JSON.stringify(file));
  return path;
}

async function refusalOf(change: (file: OwnKeys) => void): Promise<string> {
  const error = await readKeyRing(await changedFile(change)).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StartError);
  expect(error).toMatchObject({ code: 'BAD_CONFIG' });
  return (error as StartError).message;
}

describe('a fresh key file', () => {
  test('is readable to its owner alone and has a key for every purpose, X25519 first', async () => {
    expect(await createKeyRing(path)).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);

    const ring = await readKeyRing(path);
    expect(ring.publicCardDataKeys(Date.now()).keys.map(({ crv }) => crv)).toEqual(['X25519', 'P-256']);
    for (const keys of [ring.panSealing, ring.panHash, ring.blobHmac, ring.webhookSealing]) {
      expect(keys.current.key.symmetricKeySize).toBe(32);
      expect(keys.find(keys.current.id)).toBe(keys.current);
    }
    expect(ring.tokenSigning).toHaveLength(1);
  });

  test('has keys that no other file has', async () => {
    await createKeyRing(path);
    await createKeyRing(join(folder, 'other.json'));
    const secrets = async (file: string) =>
      [...(await readFile(file, 'utf8')).matchAll(/"(?:d|secret)": "(.*)"/g)].map(([, secret]) => secret);
    const all = [...(await secrets(path)), ...(await secrets(join(folder, 'other.json')))];
    expect(all).toHaveLength(14);
    expect(new Set(all).size).toBe(14);
  });

  test('is made once when several processes start together, and all read the same keys', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => createKeyRing(path)));
    expect(made.filter(Boolean)).toHaveLength(1);
    const text = await readFile(path, 'utf8');
    expect(await createKeyRing(path)).toBe(false);
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('leaves no draft behind', async () => {
    await createKeyRing(path);
    await createKeyRing(path);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  test('signs tokens with ES256 that jose verifies with the public half', async () => {
    await createKeyRing(path);
    const [key] = (await readKeyRing(path)).tokenSigning;
    const { kid, publicKey } = key!;
    const signed = [{ alg: 'ES256', kid }, {}].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const signature = await key!.sign(Buffer.from(signed.join('.')));
    const token = [...signed, signature.toString('base64url')].join('.');
    expect((await jwtVerify(token, publicKey)).protectedHeader.kid).toBe(kid);
  });
});

describe('the public card data keys', () => {
  test('match their schema, contain no private half and can be imported by jose', async () => {
    await createKeyRing(path);
    const published = (await readKeyRing(path)).publicCardDataKeys(Date.now());
    expect(cardDataKeySet.strict().parse(published)).toEqual(published);
    expect(JSON.stringify(published)).not.toMatch(/"d"/);
    for (const key of published.keys) expect(await importJWK(key)).toMatchObject({ type: 'public' });
  });

  test('show a previous key until it retires', async () => {
    const retireAt = '2026-06-01T00:00:00Z';
    const ring = await readKeyRing(
      await changedFile(({ cardData }) => {
        cardData[1]!.retireAt = retireAt;
      }),
    );
    const before = ring.publicCardDataKeys(Date.parse(retireAt) - 1).keys;
    expect(before).toHaveLength(2);
    expect(ring.publicCardDataKeys(Date.parse(retireAt)).keys).toEqual([before[0]]);
    expect(ring.cardDataKey(before[1]!.kid)?.retireAtMs).toBe(Date.parse(retireAt));
  });
});

describe('an invalid key file is refused with the position of its mistake, never with its value', () => {
  test('a missing or unreadable key file is refused', async () => {
    await expect(readKeyRing(path)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('ENOENT'),
    });
  });

  test('a key file that is not JSON is refused without quoting its content', async () => {
    await writeFile(path, '{"cardData": SECRET-SECRET');
    const error: Error = await readKeyRing(path).catch((caught) => caught);
    expect(error).toMatchObject({ code: 'BAD_CONFIG' });
    expect(error.message).not.toContain('SECRET');
    expect(error.cause).toBeUndefined();
  });

  test('a file that is larger than any key file is refused', async () => {
    await writeFile(path, ' '.repeat(65_537));
    await expect(readKeyRing(path)).rejects.toMatchObject({ code: 'BAD_CONFIG' });
  });

  test.each<[string, (file: OwnKeys) => void, string]>([
    [
      'a purpose is missing',
      (file) => {
        delete (file as Partial<OwnKeys>).panHash;
      },
      '/panHash',
    ],
    [
      'a list is empty',
      (file) => {
        file.panSealing = [];
      },
      '/panSealing',
    ],
    [
      'a list has more than 16 keys',
      (file) => {
        file.panHash = Array.from({ length: 17 }, (_, n) => ({ ...file.panHash[0]!, id: `k${n}` }));
      },
      '/panHash',
    ],
    [
      'an id is used twice',
      (file) => {
        file.panHash.push(file.panHash[0]!);
      },
      '/panHash',
    ],
    [
      'a kid is used twice',
      (file) => {
        file.cardData[1]!.kid = file.cardData[0]!.kid;
      },
      '/cardData',
    ],
    [
      'an id is a path',
      (file) => {
        file.blobHmac[0]!.id = '../../x';
      },
      '/blobHmac/0/id',
    ],
    [
      'a secret is short',
      (file) => {
        file.blobHmac[0]!.secret = 'AAAA';
      },
      '/blobHmac/0/secret',
    ],
    [
      'a secret is no Base64url',
      (file) => {
        file.blobHmac[0]!.secret = '+'.repeat(43);
      },
      '/blobHmac/0/secret',
    ],
    [
      'its first key is retired',
      (file) => {
        file.cardData[0]!.retireAt = '2026-01-01T00:00:00Z';
      },
      '/cardData',
    ],
    [
      'a date is invalid',
      (file) => {
        file.cardData[1]!.retireAt = 'soon';
      },
      '/cardData/1/retireAt',
    ],
    [
      'a name is unknown',
      (file) => {
        Object.assign(file, { panSealling: [] });
      },
      'unrecognized_keys',
    ],
    [
      'the halves of an X25519 key differ',
      (file) => {
        file.cardData[0]!.privateKey.x = file.panHash[0]!.secret;
      },
      '/cardData/0',
    ],
    [
      'the halves of a P-256 key differ',
      (file) => {
        file.cardData[1]!.privateKey.d = file.tokenSigning[0]!.privateKey.d;
      },
      '/cardData/1',
    ],
    [
      'a P-256 point is not on the curve',
      (file) => {
        file.tokenSigning[0]!.privateKey.y = file.tokenSigning[0]!.privateKey.x;
      },
      '/tokenSigning/0',
    ],
    [
      'a private key is zero',
      (file) => {
        file.tokenSigning[0]!.privateKey.d = 'A'.repeat(43);
      },
      '/tokenSigning/0',
    ],
  ])('a key file is refused if %s', async (_, change, place) => {
    let secret = '';
    const message = await refusalOf((file) => {
      change(file);
      secret = file.cardData[0]!.privateKey.d;
    });
    expect(message).toContain(place);
    expect(message).not.toContain(secret);
  });

  test('a key file that cannot be read is refused', async () => {
    await mkdir(path);
    await expect(readKeyRing(path)).rejects.toMatchObject({ message: expect.stringContaining('EISDIR') });
  });
});
