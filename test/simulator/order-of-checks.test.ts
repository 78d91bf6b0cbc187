import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { TAPPED_AT_MS, testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { IsoMessage, Processor } from '../../src/kits/processor-kit/index.ts';
import { builtInEntries, loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { recordMacVerdict } from '../../src/kits/processor-kit/mac-layout.ts';
import { PinTries } from '../../src/tools/simulator/card-accounts.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import { Ledger } from '../../src/tools/simulator/ledger.ts';
import { SimulatedSwitch } from '../../src/tools/simulator/simulated-switch.ts';

/**
 * The pages of the types list what the switch checks, in which order, with which code. Here each request has a fault and
 * all later ones, so that the response shows the order.
 */
const CODES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'type-1': { format: '30', unknown: '12', unsigned: '91', found: '00', lost: '25', duplicate: '94', network: '00' },
  'type-2': { format: '30', unknown: '12', unsigned: '91', found: '00', lost: '25', duplicate: '94', network: '00' },
  'type-1993': {
    ...{ format: '904', unknown: '902', unsigned: '907', found: '400', lost: '914', duplicate: '913', network: '800' },
  },
};

const TEN = { amountMinor: 1_000, currency: 'ZAR', currencyNumeric: '710' };

const processors = await loadProcessors();
const types = [...processors.values()].filter(({ type }) =>
  builtInEntries().some((entry) => entry.includes(`/${type}/`)),
);

describe.each(types)('$name', (processor: Processor) => {
  const { type, exampleConfig: config } = processor;
  const codes = CODES[type]!;
  const session = { isSignedOn: false };
  const stamp = { stan: '000124', sentAtMs: TAPPED_AT_MS + 30_000, localDateTime: '20261120161035' };
  const sale = () => processor.authorization(testPurchase({ amount: TEN }), config);
  const network = (kind: 'signOn' | 'echo') => processor.networkRequest(kind, stamp, config)!;
  let bank: SimulatedSwitch;

  /** DE39 of the response. */
  async function responseTo(request: IsoMessage): Promise<unknown> {
    const { response } = await bank.react(request, session);
    return processor.simulate(request, response!).responseCode;
  }

  const broken = (request: IsoMessage): IsoMessage => ({ ...request, currency: undefined, amount: undefined });

  beforeEach(() => {
    session.isSignedOn = false;
    bank = new SimulatedSwitch(processor, config, {
      ...{ ledger: new Ledger(), random: seededRandom(1), pinTries: new PinTries(), faults: undefined },
      ...{ latency: undefined, replay: undefined, verifyPin: undefined, deadlineMs: 30_000, timeScale: 1 },
      keys: { exchanged: [], isPinKeyLive: () => true },
      onRefused: () => {},
    });
  });

  test('checks MAC, message type, rules and sign-on in the order of its page', async () => {
    const mti = `${sale().mti.charAt(0)}300`;
    const withBadMac = { ...broken(sale()), mti };
    recordMacVerdict(withBadMac, 'bad');
    expect(await responseTo(withBadMac)).toBe(codes.format);
    expect(await responseTo({ ...broken(sale()), mti })).toBe(codes.unknown);
    expect(await responseTo(broken(sale()))).toBe(codes.format);
    expect(await responseTo(sale())).toBe(codes.unsigned);
    const reversal = processor.reversal(
      { ...stamp, original: processor.originalData(sale()), reason: 'timeout', attempt: 1, stan: stanOfReversal() },
      config,
    );
    expect(await responseTo(reversal)).toBe(codes.unsigned);
  });

  test('responds to network messages before the sign-on', async () => {
    expect(await responseTo(network('echo'))).toBe(codes.network);
    const [field] = Object.entries(network('echo')).find(([, value]) => value === processor.profile.network.echo)!;
    expect(await responseTo({ ...network('echo'), [field]: '9'.repeat(processor.profile.network.echo.length) })).toBe(
      codes.unknown,
    );
    const [stan] = Object.entries(network('signOn')).find(([, value]) => value === stamp.stan)!;
    expect(await responseTo({ ...network('signOn'), [stan]: undefined })).toBe(codes.format);
    expect(session.isSignedOn).toBe(false);
    expect(await responseTo(network('signOn'))).toBe(codes.network);
    expect(session.isSignedOn).toBe(true);
  });

  test('finds the sale of a reversal once and again, and declines a purchase that it has approved', async () => {
    session.isSignedOn = true;
    const reversal = processor.reversal(
      { ...stamp, original: processor.originalData(sale()), reason: 'timeout', attempt: 1, stan: stanOfReversal() },
      config,
    );
    expect(await responseTo(reversal)).toBe(codes.lost);
    expect(await responseTo(sale())).toMatch(/^0+$/);
    expect(await responseTo(sale())).toBe(codes.duplicate);
    expect(await responseTo(reversal)).toBe(codes.found);
    expect(await responseTo(reversal)).toBe(codes.found);
  });

  test('has these codes on its page', () => {
    const page = readFileSync(new URL(`../../processors/${type}/README.md`, import.meta.url), 'utf8');
    const [, list] = /## What the switch checks\n([\s\S]*?)\n\nA request that breaks/.exec(page)!;
    const items = list!
      .trim()
      .split(/\n(?=\d\. )/)
      .slice(1);
    expect(items).toEqual([
      ...['format', 'unknown', 'format', 'network', 'unsigned', 'found'].map((name) =>
        expect.stringContaining(codes[name]!),
      ),
      ...items.slice(6, -1),
      expect.stringContaining(codes.duplicate!),
    ]);
    expect(items[3]).toContain(codes.unknown);
    expect(items[5]).toContain(codes.lost);
  });

  function stanOfReversal(): string {
    return processor.profile.reversal.keepsStan ? (sale().stan as string) : stamp.stan;
  }

  test('is approved by a response with nothing but the fields that must be equal, and DE39', () => {
    const request = sale();
    const responded = processor.simulate(request, { responseCode: '00' });
    const needed = ['mti', 'responseCode', ...processor.profile.echoed];
    const response = Object.fromEntries(needed.map((name) => [name, responded[name]])) as IsoMessage;
    expect(processor.readOutcome(response, request)).toMatchObject({ kind: 'approved' });
  });
});
