import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkEvidence, packEvidence } from '../../../src/tools/certify/evidence.ts';
import type { CaseResult } from '../../../src/tools/certify/run-plan.ts';
import type { StoredRun } from '../../../src/tools/certify/stored-run.ts';

const ed25519 = () =>
  generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
const keys = ed25519();

const HOSTILE = `</td><script>alert(1)</script>&"'`;
const field = { path: '2', name: 'pan', value: '411111******1111', withheld: false };
const passedCase: CaseResult = {
  number: 1,
  title: 'Sale, approved',
  passed: true,
  startedAt: '2026-11-27T10:00:00.000Z',
  tookMs: 42,
  checks: [{ field: 'response 39', expected: '00', actual: '00', passed: true }],
  exchange: {
    ...{ from: 'gateway', kind: 'authorization', key: 'k', originalKey: undefined, atMs: 1_795_000_000_000, tookMs: 7 },
    request: { hex: '30323030', fields: [field] },
    response: { hex: null, fields: [{ ...field, path: '39', name: 'responseCode', value: '00' }] },
  },
  followUps: [],
  stan: '000042',
};
const failedCase: CaseResult = {
  ...{ number: 2, title: HOSTILE, passed: false, startedAt: passedCase.startedAt, tookMs: 5, followUps: [] },
  checks: [{ field: 'outcome', expected: 'Approved', actual: `\u0001${HOSTILE}=1`, passed: false }],
};
const run: StoredRun = {
  version: 1,
  id: '20261127-100000-abcd',
  plan: { name: HOSTILE, sha256: 'aa', cases: 3 },
  ...{ type: 'type-1', against: 'host.example:9100', startedAt: passedCase.startedAt },
  ...{ configSha256: 'bb', processorSha256: 'cc', versions: { tapwire: '0.1.0' } },
  results: [passedCase, failedCase],
};
const packed = packEvidence(run, keys.privateKey);

/** The pack with other files, under the same signature. */
function altered(change: (files: Record<string, Uint8Array>) => void): Uint8Array {
  const files = unzipSync(packed);
  change(files);
  return zipSync(files);
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-evidence-'));
  writeFileSync(join(folder, 'pack.zip'), packed);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads the pack with the modules of Python, which share no code with ours. */
function inPython(program: string): string {
  return execFileSync('python3', ['-c', program, join(folder, 'pack.zip')], { encoding: 'utf8' }).trim();
}

test('the same run and key make the same bytes, and the pack verifies', () => {
  expect(Buffer.from(packEvidence(structuredClone(run), keys.privateKey)).equals(packed)).toBe(true);
  expect(checkEvidence(packed, keys.publicKey)).toEqual({ run: run.id, faults: [] });
});

test('programs of others read the ZIP, the checksums, the XML and the CSV', () => {
  const checked = inPython(`
import zipfile, hashlib, json, sys, csv, io, xml.etree.ElementTree as tree
pack = zipfile.ZipFile(sys.argv[1])
assert not pack.testzip()
sums = json.loads(pack.read('manifest.json'))['files']
assert all(hashlib.sha256(pack.read(name)).hexdigest() == value for name, value in sums.items())
suite = tree.fromstring(pack.read('junit.xml'))
rows = list(csv.DictReader(io.StringIO(pack.read('results.csv').decode())))
print(json.dumps([sorted(sums), suite.get('tests'), suite.get('failures'), suite.get('name'), [row['result'] for row in rows], rows[1]['title']]))`);
  expect(JSON.parse(checked)).toEqual([
    ['junit.xml', 'report.html', 'results.csv', 'results.json'],
    ...['2', '1', HOSTILE, ['passed', 'failed'], HOSTILE],
  ]);
});

test('openssl verifies the signature', () => {
  const files = unzipSync(packed);
  writeFileSync(join(folder, 'manifest.json'), files['manifest.json']!);
  writeFileSync(join(folder, 'manifest.raw'), Buffer.from(strFromU8(files['manifest.sig']!), 'base64'));
  writeFileSync(join(folder, 'public.pem'), keys.publicKey);
  const args = ['pkeyutl', '-verify', '-pubin', '-inkey', 'public.pem', '-rawin', '-in', 'manifest.json'];
  expect(execFileSync('openssl', [...args, '-sigfile', 'manifest.raw'], { cwd: folder, encoding: 'utf8' })).toMatch(
    /Verified Successfully/,
  );
});

test('the report shows text of the plan and of the host as text', () => {
  const report = strFromU8(unzipSync(packed)['report.html']!);
  expect(report).not.toContain('<script');
  expect(report).toContain('&lt;script&gt;');
  expect(report).toContain('1 passed, 1 failed, 1 not run');
  expect(report).toContain('000042');
});

test.each([
  [
    'a changed file',
    (files: Record<string, Uint8Array>) => (files['results.csv'] = strToU8('x')),
    /results\.csv: changed/,
  ],
  ['a missing file', (files: Record<string, Uint8Array>) => delete files['junit.xml'], /junit\.xml: missing/],
  [
    'a file that was added',
    (files: Record<string, Uint8Array>) => (files['more.txt'] = strToU8('x')),
    /more\.txt: not in/,
  ],
  [
    'a manifest for other files',
    (files: Record<string, Uint8Array>) => (files['manifest.json'] = strToU8('{"version":1,"run":"x","files":{}}')),
    /manifest\.json: it was not signed/,
  ],
])('%s is found', (_, change, fault) => {
  expect(checkEvidence(altered(change), keys.publicKey).faults.join()).toMatch(fault);
});

test.each([
  'report.html',
  '__proto__',
])('a second file of a name, or one that no list shows, is refused: %s', (name) => {
  const placeholder = 'x'.repeat(name.length);
  const forged = { [placeholder]: strToU8('all passed'), ...unzipSync(packed) };
  const pack = Buffer.from(Buffer.from(zipSync(forged)).toString('latin1').replaceAll(placeholder, name), 'latin1');
  expect(() => {
    if (checkEvidence(pack, keys.publicKey).faults.length > 0) throw new Error('found');
  }).toThrow();
});

test('the key of another person does not verify, and other kinds of keys are refused without their text', () => {
  expect(checkEvidence(packed, ed25519().publicKey).faults).toHaveLength(1);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(() => packEvidence(run, pem)).toThrow(/private Ed25519 key/);
  expect(() => checkEvidence(packed, 'no key')).toThrow(/public Ed25519 key/);
});

test('any cut of a pack, and a file that is no ZIP, is refused or found', () => {
  for (let length = 0; length < packed.length; length += 97) {
    const cut = packed.subarray(0, length);
    expect(() => {
      if (checkEvidence(cut, keys.publicKey).faults.length > 0) throw new Error('found');
    }).toThrow();
  }
  expect(() => checkEvidence(strToU8('no zip'), keys.publicKey)).toThrow(/not a pack of evidence/);
});

test.each([
  ['in digits', '4111111111111111'],
  ['in the hex of ASCII', '34313131313131313131313131313131'],
  ['in the hex of EBCDIC', 'f4f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1'],
])('a card number %s never leaves in a pack', (_, value) => {
  const exchange = { ...passedCase.exchange!, request: { hex: `3032${value}`, fields: [] } };
  expect(() => packEvidence({ ...run, results: [{ ...passedCase, exchange }] }, keys.privateKey)).toThrow(
    /results\.json would|report\.html would/,
  );
});
