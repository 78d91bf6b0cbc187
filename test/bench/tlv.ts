/**
 * `npm run bench -- tlv`: BER-TLV compared with npm packages, on the published blobs that other libraries use for their
 * measurements.
 */
import * as tomkp from '@tomkp/ber-tlv';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { writeDe55 } from '../../src/codecs/emv/de55.ts';
import { encodeTlv, indexTlv, type TlvIndex } from '../../src/codecs/emv/tlv.ts';
import { npmTlv } from '../emv/npm-tlv.ts';
import vectors from '../vectors/tlv.json' with { type: 'json' };
import { type BenchReport, measure, ratio, report } from './measure.ts';

/** 25 objects in 165 bytes, as a terminal sends them. */
const DE55 = wire('icc-full-de55-mastercard-3byte-tags');
/** Three templates deep: the benchmark message of moov-io/bertlv. */
const FCI = wire('fci-visa-with-pdol-bf0c (moov bertlv benchmark message)');

/**
 * First the index alone, then everything that a package does as well: `tlv` and `@tomkp/ber-tlv` build all objects and
 * copy or slice each value, so laziness must not win the comparison. Other packages were tried with this DE55 and are
 * left out, because none was faster than these two: ber-tlv 0.9.2 (25 µs), node-tlv 1.5.14 (33 µs), node-emv 1.0.23 (18
 * µs).
 */
export async function bench(): Promise<BenchReport> {
  const de55Buffer = Buffer.from(DE55);
  const nodes = indexTlv(DE55).nodes();
  const smallest = encodeTlv(nodes.slice(0, 18));
  const largest = encodeTlv([...nodes, ...nodes.slice(0, 7)]);
  const de55 = indexTlv(DE55);
  const scratch = new Uint8Array(256);
  const npmObjects = npmTlv.parseAll(de55Buffer);
  const tomkpObjects = tomkp.parse(DE55);
  const results = measure({
    'DE55 index only': () => indexTlv(DE55),
    'DE55 index only, cut to 18 objects': () => indexTlv(smallest),
    'DE55 index only, filled up to 32 objects': () => indexTlv(largest),
    'DE55 index and 6 values': () => sixValues(indexTlv(DE55)),
    'DE55 full walk, every value a view': () => walk(indexTlv(DE55)),
    'DE55 full walk, every value copied': () => walkAndCopy(indexTlv(DE55)),
    'DE55 npm tlv': () => npmTlv.parseAll(de55Buffer),
    'DE55 npm @tomkp/ber-tlv': () => tomkp.parse(DE55),
    'FCI index only': () => indexTlv(FCI),
    'FCI npm tlv': () => npmTlv.parseAll(Buffer.from(FCI)),
    'FCI npm @tomkp/ber-tlv': () => tomkp.parse(FCI),
    'DE55 built by allow-list': () => writeDe55(de55, scratch, 0),
    'DE55 encode': () => encodeTlv(nodes),
    'DE55 encode npm tlv': () => npmObjects.map((object) => object.encode()),
    'DE55 encode npm @tomkp/ber-tlv': () => tomkp.encode([...tomkpObjects]),
  });
  const ratios = {
    indexVsTlv: ratio(results, 'DE55 index only', 'DE55 npm tlv'),
    copyingWalkVsTlv: ratio(results, 'DE55 full walk, every value copied', 'DE55 npm tlv'),
    walkVsTomkp: ratio(results, 'DE55 full walk, every value a view', 'DE55 npm @tomkp/ber-tlv'),
    encodeVsTlv: ratio(results, 'DE55 encode', 'DE55 encode npm tlv'),
  };
  return report('BER-TLV', { results, ratios });
}

/** The values that a tap needs first: amount, currency, AID, cryptogram and its kind, sequence number. */
function sixValues(index: TlvIndex): unknown[] {
  return [0x9f02, 0x5f2a, 0x4f, 0x9f26, 0x9f27, 0x5f34].map((tag) => index.value(tag));
}

function walk(index: TlvIndex): number {
  let bytes = 0;
  for (const { value } of index) bytes += value.length;
  return bytes;
}

function walkAndCopy(index: TlvIndex): Uint8Array[] {
  return Array.from(index, ({ value }) => value.slice());
}

function wire(name: string): Uint8Array {
  return fromHex(vectors.find((vector) => vector.name === name)!.wireHex);
}
