import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import { processorConformance } from '../../src/kits/processor-kit/conformance.ts';
import { defineProcessor } from '../../src/kits/processor-kit/define-processor.ts';
import type { Processor, ProcessorDefinition } from '../../src/kits/processor-kit/index.ts';
import { profileOf } from '../../src/kits/processor-kit/switch-protocol.ts';

type Definition = ProcessorDefinition<typeof type1.exampleConfig, ReturnType<typeof type1.authorization>>;
const perTerminal = { ...type1.profile, stanScope: 'terminal' } as const;

/** What the conformance suite says about references. */
function identityFaults(processor: unknown): (string | undefined)[] {
  const results = processorConformance(processor as Processor, undefined, 'identity');
  expect(results.length).toBeGreaterThan(1);
  return results.filter(({ passed }) => !passed).map(({ why }) => why);
}

/** Type 1 with another 127.2. */
const withKey = (keyOf: (message: { at: string; rrn: string; stan: string; tid: string }) => string): Definition => ({
  ...type1,
  authorization: (purchase, config) => {
    const message = type1.authorization(purchase, config);
    const { transmissionDateTime: at = '', rrn = '', stan = '', tid = '' } = message;
    return { ...message, switchData: { ...message.switchData, switchKey: keyOf({ at, rrn, stan, tid }) } };
  },
});

test.each([
  ['type-1', type1],
  ['type-2', type2],
  ['type-1993', type1993],
] as const)('%s cannot count STANs per terminal, because its references lack the terminal', (_, type) => {
  const scoped = { ...type, profile: { ...type.profile, stanScope: 'terminal' } } as unknown as Definition;
  expect(() => defineProcessor(scoped)).toThrow(/^PLUG_IN_INVALID: profile\.stanScope: must be acquirer: DE\d+ \(\w+/);
  expect(identityFaults(scoped)).toEqual([expect.stringContaining('has the STAN without the terminal')]);
  expect(identityFaults(type)).toEqual([]);
});

test('a processor whose references have the terminal can count STANs per terminal', () => {
  const tidOf = ({ tid = '' }: { tid?: string | undefined }) => tid.slice(-4);
  const named: Definition = {
    ...type1,
    profile: perTerminal,
    authorization: (purchase, config) => ({
      ...type1.authorization(purchase, config),
      rrn: `${purchase.stan}${tidOf(purchase.terminal)}`,
      switchData: { switchKey: `${purchase.sentAtMs}${purchase.stan}${purchase.terminal.tid}` },
    }),
    mandateAuthorization: undefined,
    refund: undefined,
    reversal: ({ original, stan }) => ({
      mti: '0420',
      stan,
      tid: original.tid,
      rrn: `${original.stan}${tidOf(original)}`,
    }),
  };
  expect(() => defineProcessor(named)).not.toThrow();
});

test('a configuration that counts per terminal, which its type does not allow, is counted for the acquirer', () => {
  const config = { ...type1993.exampleConfig, profile: { stanScope: 'terminal', maxInFlight: 7 } } as const;
  expect(profileOf(type1993, config)).toMatchObject({ stanScope: 'acquirer', maxInFlight: 7 });
});

test.each([
  ['the time alone', ({ at, tid }) => `${at}${tid}`, /names a message with the time alone/],
  ['a part of the STAN', ({ at, stan }) => `${at}${stan.slice(2)}`, /has only a part of the STAN/],
] as [string, Parameters<typeof withKey>[0], RegExp][])('a reference made of %s fails the suite', (_, keyOf, why) => {
  expect(identityFaults(withKey(keyOf))).toEqual([expect.stringMatching(why)]);
  expect(identityFaults(withKey(keyOf))).toEqual([expect.stringContaining('(switchData.switchKey)')]);
});

test('a paymentProviderReference that two approvals share fails the suite', () => {
  const careless: Definition = {
    ...type1,
    readOutcome: (response, request) => ({ ...type1.readOutcome(response, request), rrn: response.authorizationCode }),
  };
  expect(identityFaults(careless)).toEqual(['two approvals have the same rrn']);
});
