import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import type { IsoMessage } from '../iso-message.ts';
import type { Check, Subject } from './check.ts';
import { valuesOf } from './field-values.ts';
import { checkSample, differingField } from './sample-differences.ts';
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
        checkSample(codec, codec.spec ?? processor.spec, sample, processor.framing.maxFrameBytes);
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
