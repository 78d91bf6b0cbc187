import { describe, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import { RESPONSE_CODES } from '../../schemas/response-codes.ts';
import { classifyOutcome, classifyReversalResponse } from '../../src/kits/processor-kit/classify-outcome.ts';
import { framingChecks } from '../../src/kits/processor-kit/conformance/hostile-checks.ts';
import { processorConformance } from '../../src/kits/processor-kit/conformance.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { meaningOf } from '../../src/kits/processor-kit/profile.ts';

/** Meanings that are defined by the code alone. */
const PLAIN = {
  requestedMinor: 1_000,
  respondedMinor: 1_000,
  partialAllowed: false,
  singleTapFlag: false,
  issuerAuthenticationData: '',
};

const processors = await loadProcessors();

describe.each([...processors.values()])('$name conforms', (processor) => {
  test.each(processorConformance(processor))('$group: $check', ({ why }) => {
    expect(why).toBeUndefined();
  });
});

describe('type 1 with chip data in XML conforms', () => {
  const config = configSchema.parse({ ...processors.get('type-1')!.exampleConfig, iccForm: 'xml' });
  test.each(processorConformance(processors.get('type-1')!, config))('$group: $check', ({ why }) => {
    expect(why).toBeUndefined();
  });
});

describe('any DE39 for a card of any scheme', () => {
  const characters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const ofTwo = characters.flatMap((first) => characters.map((second) => first + second));
  const ofThree = Array.from({ length: 1_000 }, (_, code) => String(code).padStart(3, '0'));
  const schemes = ['Visa', 'Mastercard', 'Maestro', 'Amex', 'JCB', 'UnionPay', 'Discover', ''];

  test.each([
    ...processors.values(),
  ])('$name decides nothing from a code without a meaning that the interface (7.5) lists', (type) => {
    const { codes } = type.profile;
    const isListed = (code: string) => RESPONSE_CODES[meaningOf(codes, code)] !== undefined;
    for (const responseCode of [...ofTwo, ...ofThree]) {
      for (const scheme of schemes) {
        const { kind } = classifyOutcome(codes, { responseCode, cardTags: [] }, { ...PLAIN, scheme });
        const isPinRequest = codes.pinRequired.some(
          (row) => row.code === responseCode && (row.scheme ?? scheme) === scheme,
        );
        if (isPinRequest) expect(['pinRequired', 'declined', 'unknown']).toContain(kind);
        else if (!isListed(responseCode))
          expect([responseCode, scheme, kind]).toEqual([responseCode, scheme, 'unknown']);
      }
    }
    expect(codes.declined.filter((code) => !isListed(code))).toEqual([]);
  });
});

test.each([
  ...processors.values(),
])('$name declines a sale with each code for "issuer or switch inoperative", and decides no reversal by it', (type) => {
  const { codes, reversal } = type.profile;
  const { meanings = { 91: '91' } } = codes;
  const inoperative = Object.keys(meanings).filter((code) => meanings[code] === '91');
  expect(inoperative).not.toEqual([]);
  for (const responseCode of inoperative) {
    const { kind } = classifyOutcome(codes, { responseCode, cardTags: [] }, { ...PLAIN, scheme: '' });
    expect([responseCode, kind]).toEqual([responseCode, 'declined']);
    expect(classifyReversalResponse(reversal, responseCode)).toBe('undecided');
  }
});

test.each([
  ['of three bytes', { lengthHeader: 'binary-3' }, 'lengthHeader must be one of binary-2, '],
  ['in other properties', { lengthBytes: 3, lengthIncludesHeader: false }, 'lengthHeader must be one of'],
  ['that cannot announce the longest frame', { lengthHeader: 'bcd-2', maxFrameBytes: 65_535 }, 'from 1 to 9999'],
  [
    'whose frames are shorter than the messages',
    { lengthHeader: 'binary-2', maxFrameBytes: 64 },
    'maxFrameBytes leaves 64',
  ],
])('a length header %s does not conform', (_, framing, why) => {
  const type1 = processors.get('type-1')!;
  const { exampleConfig: config } = type1;
  const processor = { ...type1, framing: { maxFrameBytes: 4_096, ...framing } as never };
  expect(() => framingChecks[0]!.run({ processor, config, codec: type1.codec(config) })).toThrow(why);
});

test('a failure names its error and its position, and quotes nothing of it', () => {
  const type1 = processors.get('type-1')!;
  const talkative = (): never => {
    throw new TypeError('cannot read:\n4111111111111111 at once');
  };
  const failed = processorConformance({ ...type1, readRequest: talkative }).filter(({ passed }) => !passed);
  expect(failed.length).toBeGreaterThan(3);
  expect(failed.map(({ why }) => why)).toContainEqual(expect.stringMatching(/^TypeError at .+:\d+:\d+/));
  expect(JSON.stringify(failed)).not.toMatch(/cannot read|4111/);
});
