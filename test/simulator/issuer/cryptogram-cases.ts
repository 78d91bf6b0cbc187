import fc from 'fast-check';
import { fromHex, toHex } from '../../../src/codecs/bytes/hex.ts';
import { ChipCard } from '../../../src/tools/simulator/issuer/chip-card.ts';
import { pythonJson } from '../../hsm/python.ts';

/** The card versions that both pyemv and jPOS compute: the class of the one, the methods of the other. */
const VERSIONS = {
  'visa-10': { pyemv: 'VisaCVN10', jpos: ['OPTION_A', 'VSDC', 'METHOD_1'] },
  'visa-18': { pyemv: 'VisaCVN18', jpos: ['OPTION_B', 'EMV_CSKD', 'METHOD_2'] },
  'mastercard-16': { pyemv: 'MasterCardCVN16', jpos: ['OPTION_A', 'MCHIP', 'METHOD_1'] },
  'mastercard-17': { pyemv: 'MasterCardCVN17', jpos: ['OPTION_A', 'MCHIP', 'METHOD_1'] },
  'mastercard-20': { pyemv: 'MasterCardCVN20', jpos: ['OPTION_A', 'EMV_CSKD', 'METHOD_1'] },
  'mastercard-21': { pyemv: 'MasterCardCVN21', jpos: ['OPTION_A', 'EMV_CSKD', 'METHOD_1'] },
} as const;

/** In the order of EMV Book 2 table 26, with their lengths. */
const LENGTHS = [
  ['9F02', 6],
  ['9F03', 6],
  ['9F1A', 2],
  ['95', 5],
  ['5F2A', 2],
  ['9A', 3],
  ['9C', 1],
  ['9F37', 4],
  ['82', 2],
  ['9F36', 2],
] as const;

/** A transaction of a card. Everything is hex but `version`. */
export interface CryptogramCase {
  readonly version: keyof typeof VERSIONS;
  readonly issuerKey: string;
  readonly pan: string;
  readonly sequence: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly responseCode: string;
}

export interface Cryptograms {
  readonly arqc: string;
  /** Tag 91 of an approval. */
  readonly authenticationData: string;
}

const hexOf = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => toHex(value));
const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((each) => each.join(''));
/** Visa's data have no version in them here, because the case has it; Mastercard's are 18 bytes. */
const issuerDataOf = (version: string) =>
  version.startsWith('visa') ? hexOf(5).map((rest) => `0601${rest}`) : hexOf(18);

export const cryptogramCases: fc.Arbitrary<CryptogramCase> = fc
  .constantFrom(...(Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]))
  .chain((version) =>
    fc.record({
      version: fc.constant(version),
      issuerKey: hexOf(16),
      pan: digits(12, 19),
      sequence: digits(2, 2),
      tags: fc.record({
        ...Object.fromEntries(LENGTHS.map(([tag, bytes]) => [tag, hexOf(bytes)])),
        '9F10': issuerDataOf(version),
      }),
      responseCode: hexOf(2),
    }),
  );

/** What this project computes. */
export function computed(transaction: CryptogramCase): Cryptograms {
  const { version, issuerKey, pan, sequence, tags, responseCode } = transaction;
  const chip = new ChipCard({ name: 'generated', version, issuerKey, pan, sequence });
  const valuesWith = (arqc?: Uint8Array) => ({
    value: (tag: number) => {
      const text = tags[tag.toString(16).toUpperCase()];
      return tag === 0x9f26 ? arqc : text === undefined ? undefined : fromHex(text);
    },
  });
  const arqc = chip.cryptogram(valuesWith());
  const data = chip.authenticationData(valuesWith(arqc), fromHex(responseCode), true);
  return { arqc: toHex(arqc), authenticationData: toHex(data) };
}

const PYEMV = `
import json, sys
from pyemv import cvn
h = bytes.fromhex
out = []
for c in json.loads(sys.argv[1]):
    t = {'tag_' + k.lower(): h(v) for k, v in c['tags'].items()}
    data, visa = t['tag_9f10'], c['name'].startswith('Visa')
    if c['name'] != 'VisaCVN18':
        del t['tag_9f10']
        t['cvr'] = data[3:7] if visa else data[2:8]
    if c['name'] in ('MasterCardCVN17', 'MasterCardCVN21'):
        t['counters'] = data[10:18]
    card = getattr(cvn, c['name'])(h(c['issuerKey']), h(c['issuerKey']), h(c['issuerKey']), c['pan'], c['sequence'])
    arqc = card.generate_ac(**t)
    code = h('00800000' if c['name'] == 'VisaCVN18' else c['responseCode'])
    by = {'tag_9f36': t['tag_9f36']} if c['name'] in ('VisaCVN18', 'MasterCardCVN20', 'MasterCardCVN21') else {}
    by['csu' if c['name'] == 'VisaCVN18' else 'arpc_rc'] = code
    out.append({'arqc': arqc.hex().upper(), 'authenticationData': (card.generate_arpc(arqc, **by) + code).hex().upper()})
print(json.dumps(out))
`;

export function askPyemv(cases: readonly CryptogramCase[]): Promise<Cryptograms[]> {
  return pythonJson(
    PYEMV,
    cases.map((each) => ({ ...each, name: VERSIONS[each.version].pyemv })),
  );
}

/** @param ask sends a command to jPOS (test/interop/jpos/Peer.java) */
export async function askJpos(
  ask: (...words: readonly string[]) => Promise<string>,
  { version, issuerKey, pan, sequence, tags, responseCode }: CryptogramCase,
): Promise<Cryptograms> {
  const [cardKey, sessionKey, method] = VERSIONS[version].jpos;
  const code = method === 'METHOD_2' ? '00800000' : responseCode;
  const issuerData = tags['9F10']!;
  const part = {
    'visa-10': issuerData.slice(6, 14),
    'visa-18': issuerData,
    'mastercard-16': issuerData.slice(4, 16),
    'mastercard-17': issuerData.slice(4, 16) + issuerData.slice(20, 36),
    'mastercard-20': issuerData.slice(4, 16),
    'mastercard-21': issuerData.slice(4, 16) + issuerData.slice(20, 36),
  }[version];
  const data = LENGTHS.map(([tag]) => tags[tag]).join('') + part;
  // jPOS adds zeros to a data block; padding of method 2 is the caller's.
  const padded = version === 'visa-10' ? data : `${data}80`.padEnd(Math.ceil((data.length + 2) / 16) * 16, '0');
  const words = [issuerKey, pan, sequence, tags['9F36']!, tags['9F37']!, padded, method, code];
  const [arqc = '', arpc = ''] = (await ask('cryptogram', cardKey, sessionKey, ...words)).split('\t');
  return { arqc, authenticationData: arpc + code };
}
