import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KEY_PURPOSES } from '../../src/card/change-key-ring.ts';
import { KEY_TYPES } from '../../src/hsm-devices/payshield/host-command.ts';
import { SECRETS } from '../../src/observe/secret-files.ts';
import { settings } from '../../src/start/config.ts';
import { sourceFiles } from './source-files.ts';

const PAGE = readFileSync(new URL('../../deploy/compliance/keys.md', import.meta.url), 'utf8');

/** The cells of each row that begins with the name of a key, and the titles of its table. */
function inventoryOf(page: string) {
  return page.split(/\n(?=#+ )/).flatMap((section) => {
    const lines = section.split('\n').filter((line) => line.startsWith('| '));
    const cells = lines.map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
    const [titles = [], ...rows] = cells;
    return rows.map((row) => ({ key: row[0]!.replaceAll('`', ''), titles, row }));
  });
}

const inventory = inventoryOf(PAGE);
const keys = inventory.map(({ key }) => key);
const files = sourceFiles('src', 'processors', 'readers');

/** Where `sealBytes` is called, the purposes that it is called with. */
function sealingPurposes(): { path: string; purposes: string[] }[] {
  return files
    .filter(({ path, text }) => /(?<!function )\bsealBytes\(/.test(text) && !path.startsWith('src/tools/'))
    .map(({ path, text }) => {
      const named = /(?:purpose: |const (?:PURPOSE|SEALED_FOR) = )'([^']+)'/g;
      return { path, purposes: [...text.matchAll(named)].map(([, purpose]) => purpose!) };
    });
}

/** Functions that make or use a key. */
const KEY_MAKING =
  /\b(?:randomBytes|randomFillSync|generateKey(?:Pair)?(?:Sync)?|createHmac|create(?:C|Dec)ipheriv|scrypt(?:Sync)?|hkdf(?:Sync)?|pbkdf2(?:Sync)?|diffieHellman|createECDH|createPrivateKey|createSecretKey|importPKCS8)\(/;

/** Files that call them and have no key of an installation. */
const WITHOUT_OWN_KEY: Readonly<Record<string, string>> = {
  'readers/apple-ttp/sample-readers.ts': 'sample readers for tests',
  'readers/jwe/jwe.ts': 'derives the key of one blob from card-data',
  'src/basics/files/change-file.ts': 'names of temporary files',
  'src/basics/uuid.ts': 'ids',
  'src/card/sample-tap.ts': 'sample readers for tests',
  'src/cli/certify.ts': 'ids of runs',
  'src/cli/init/first-tap.ts': 'an issuer that exists for one tap',
  'src/codecs/crypto/aes-gcm.ts': 'an algorithm; the caller has the key',
  'src/codecs/crypto/block-key.ts': 'an algorithm; the caller has the key',
  'src/codecs/crypto/pin-block.ts': 'padding of PIN blocks',
  'src/codecs/crypto/tr31.ts': 'an algorithm; the caller has the key',
  'src/kits/reader-kit/conformance.ts': 'noise for tests of readers',
  'src/kits/reader-kit/sample-keys.ts': 'keys of sample readers',
  'src/observe/request-log.ts': 'ids of spans',
};

describe('the key inventory', () => {
  test('has a row for each purpose of the key ring and each usage of HSM keys', () => {
    expect(keys).toEqual(expect.arrayContaining([...KEY_PURPOSES, ...Object.keys(KEY_TYPES)]));
  });

  test('has a row for each purpose of a sealed value', () => {
    const found = sealingPurposes();
    expect(found.filter(({ purposes }) => purposes.length === 0)).toEqual([]);
    const purposes = found.flatMap((each) => each.purposes);
    expect(purposes).toContain('card');
    expect(keys).toEqual(expect.arrayContaining(purposes));
  });

  test('names each setting that is a secret or the path of one', () => {
    const isPath = (name: string) => /(?:_KEYS?_FILE|_PIN_FILE|_ACCOUNT_FILE|^TLS_FILES_DIR|^HSM_MODULE)$/.test(name);
    const names = settings()
      .map(({ name }) => name)
      .filter(isPath);
    expect(names).toContain('TLS_KEY_FILE');
    expect([...SECRETS, ...names].filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([]);
  });

  test('links to each file that makes or uses a key', () => {
    const making = files.filter(({ path, text }) => KEY_MAKING.test(text) && !path.startsWith('src/tools/'));
    const unknown = making.map(({ path }) => path).filter((path) => !PAGE.includes(`(../../${path})`));
    expect(unknown.filter((path) => !(path in WITHOUT_OWN_KEY))).toEqual([]);
    expect(Object.keys(WITHOUT_OWN_KEY).filter((path) => !unknown.includes(path))).toEqual([]);
  });

  test('has each key once, every cell filled except those of the operator', () => {
    expect(keys.length).toBeGreaterThan(35);
    expect(keys.filter((key, at) => keys.indexOf(key) !== at || key === '')).toEqual([]);
    const empty = inventory.filter(({ titles, row }) =>
      row.some((cell, at) => cell === '' && titles[at] !== 'Cryptoperiod' && titles[at] !== 'Custodian'),
    );
    expect(empty).toEqual([]);
    expect(inventory.filter(({ titles }) => titles.at(-1) !== 'Custodian' || titles.at(-2) !== 'Cryptoperiod')).toEqual(
      [],
    );
  });
});
