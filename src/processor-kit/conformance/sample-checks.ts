import { isDeepStrictEqual } from 'node:util';
import { fromHex, toHex } from '../../bytes/hex.ts';
import type { IsoMessage } from '../iso-message.ts';
import { type Check, CheckFailure, expectEqual, expectThat, type Subject } from './check.ts';
import { valuesOf } from './field-values.ts';
import { bytesOf } from './wire.ts';

/** Every field is tried alone, also one that is longer than the frames of the dialect. */
const MOST_FIELD_BYTES = 65_535;

/** The samples of a processor, compared byte for byte. */
export const sampleChecks: readonly Check[] = [
  {
    name: 'the samples include an authorization, its response and a reversal',
    run({ processor }) {
      const kinds = processor.samples.map(({ message }) => processor.readRequest(message as IsoMessage).kind);
      expectThat(kinds.includes('authorization'), 'no authorization');
      expectThat(kinds.includes('reversal'), 'no reversal');
      expectThat(
        processor.samples.some(({ outcome }) => outcome === 'approved'),
        'no approved response',
      );
    },
  },
  {
    name: 'each sample encodes to its bytes, and its bytes decode to the sample',
    run({ processor }) {
      for (const sample of processor.samples) {
        const codec = processor.codec(sample.config ?? processor.exampleConfig);
        const wire = toHex(bytesOf(codec, sample.message, processor.framing.maxFrameBytes));
        if (wire !== sample.wireHex.toUpperCase()) {
          throw new CheckFailure(`${sample.name}: bytes differ from offset ${firstDifference(wire, sample.wireHex)}`);
        }
        const decoded = codec.decode(fromHex(sample.wireHex));
        const field = differingField(decoded, sample.message);
        expectThat(field === undefined, `${sample.name}: ${field} differs`);
      }
    },
  },
  {
    name: 'each response among the samples has the stated outcome',
    run({ processor }) {
      for (const { name, message, request, outcome } of processor.samples) {
        if (outcome === undefined) continue;
        const asked = processor.samples.find((sample) => sample.name === request);
        expectThat(asked !== undefined, `${name}: no sample is named ${request}`);
        expectEqual(processor.readOutcome(message, asked.message).kind, outcome, name);
      }
    },
  },
  { name: 'the shortest and the longest value of each field of the spec round-trip', run: everyField },
];

function firstDifference(wire: string, expected: string): number {
  let at = 0;
  while (at < wire.length && wire[at] === expected[at]?.toUpperCase()) at++;
  return Math.floor(at / 2);
}

/**
 * The first field, in order of name, whose values differ. Composites are compared as a whole; an absent field equals
 * undefined.
 */
function differingField(one: IsoMessage, other: IsoMessage): string | undefined {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].find((name) => !isDeepStrictEqual(present(one[name]), present(other[name])));
}

function present(value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, present(member)]),
  );
}

function everyField({ processor }: Subject): void {
  const codec = processor.codec(processor.exampleConfig);
  const maxBytes = MOST_FIELD_BYTES;
  for (const [number, field] of Object.entries(processor.spec.fields)) {
    for (const value of valuesOf(field)) {
      const message = { mti: processor.samples[0]!.message.mti, [field.name]: value } as IsoMessage;
      const decoded = codec.decode(bytesOf(codec, message, maxBytes));
      expectThat(
        differingField(decoded, message) === undefined,
        `DE${number} (${field.name}) is different after the round trip`,
      );
    }
  }
}
