import { afterEach, describe, expect, test } from 'vitest';
import type { WrappedKey } from '../../src/kits/processor-kit/key-change.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { KeyExchangeConfig, SwitchConfig } from '../../src/kits/processor-kit/switch-config.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, RIGHT_PIN, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';

const KEYS = {
  'type-1': { form: 'cryptogram', keys: ['mac', 'pin'] },
  'type-2': { form: 'keyBlock', keys: ['mac'] },
} as const;
type Type = keyof typeof KEYS;

const MAC_KEYS = [{ number: 7, keyId: 'first-mac' }];
const ZONE_PIN = { keyId: 'first-pin', format: 0, derivation: 'zone' } as const;

function exchangeOf(type: Type, differing: Partial<KeyExchangeConfig> = {}): KeyExchangeConfig {
  const common = { transportKeyId: 'transport', startedBy: 'us', maxAgeSeconds: 86_400, overlapSeconds: 60 } as const;
  return { ...common, ...KEYS[type], keys: [...KEYS[type].keys], ...differing };
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** With one acquirer alone: for a switch, two that announce their own keys would be two zones. */
async function install(type: Type, options: InstallationOptions & { readonly config: Partial<SwitchConfig> }) {
  const installation = await startInstallation({ type, ...options, role: 'none' });
  closers.push(() => installation.stop());
  for (const table of ['routes', 'processors']) {
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
  }
  return installation;
}

async function tap(installation: Installation, url?: string): Promise<string> {
  const phone = url === undefined ? installation.phone() : installation.phoneAt(url);
  return outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).type;
}

/** A gateway without processor time cannot store a key in time, and does not respond; the switch announces the next one. */
async function changeKeys({ simulator }: Installation): Promise<void> {
  await eventually(async () => expect(await simulator.changeKeys()).toBe(1));
}

describe.each(['type-1', 'type-2'] as const)('%s changes its keys', (type) => {
  test('keys change under load, with two workers: every tap is approved, with a good MAC, and nothing is reversed', async () => {
    const installation = await install(type, { config: { macKeys: MAC_KEYS, keyExchange: exchangeOf(type) } });
    const gateways = [await installation.startGateway(), await installation.startGateway()];
    const outcomes: string[] = [];
    let isOver = false;
    const load = Array.from({ length: 8 }, async (_, at) => {
      while (!isOver) outcomes.push(await tap(installation, gateways[at % 2]!.url));
    });
    for (let change = 1; change <= 3; change++) {
      const before = outcomes.length;
      await changeKeys(installation);
      await eventually(() => expect(outcomes.length).toBeGreaterThan(before + 6));
    }
    isOver = true;
    await Promise.all(load);
    expect(new Set(outcomes)).toEqual(new Set(['Approved']));
    expect(installation.simulator.counters()[0]).toMatchObject({ refused: 0, reversals: 0, declined: 0 });
    const stats = await Promise.all(gateways.map(({ url }) => installation.switchStats(url)));
    expect(stats).toMatchObject([{ badMacs: 0 }, { badMacs: 0 }]);
    expect(stats[0]!.keyExchange!.exchanged + stats[1]!.keyExchange!.exchanged).toBeGreaterThanOrEqual(4);
    await expectInvariants(installation);
  });
});

describe('type-1', () => {
  const type = 'type-1';

  test('changes its keys at sign-on, keeps them over a restart, and gets new ones when they no longer agree', async () => {
    const keyExchange = exchangeOf(type, { overlapSeconds: 20 });
    const installation = await install(type, { config: { macKeys: MAC_KEYS, keyExchange } });
    const first = await installation.startGateway();
    const { keys } = (await installation.switchStats()).keyExchange!;
    expect(keys.map(({ use }) => use).sort()).toEqual([...keyExchange.keys].sort());
    await first.stop();

    const second = await installation.startGateway();
    const after = (await installation.switchStats()).keyExchange!;
    expect(after).toMatchObject({ exchanged: 0, failed: 0 });
    expect(new Set(after.keys)).toEqual(new Set(keys));
    expect(await tap(installation)).toBe('Approved');
    await second.stop();

    const { rows } = await installation.database.query('select wrapped, kcv from exchanged_keys');
    expect(rows).toHaveLength(keys.length);
    await installation.database.query('delete from exchanged_keys');
    await installation.startGateway();
    expect((await installation.switchStats()).keyExchange).toMatchObject({ exchanged: keyExchange.keys.length });
    expect(await tap(installation)).toBe('Approved');
  });
});

describe('a PIN', () => {
  test('is sent under the exchanged zone key, before a change and after it', async () => {
    const config = { macKeys: MAC_KEYS, pinKey: ZONE_PIN, keyExchange: exchangeOf('type-1') };
    const installation = await install('type-1', { config });
    await installation.startGateway();
    const phone = installation.phone();
    for (let change = 0; change < 2; change++) {
      const asked = await tapForPin(phone);
      expect(outcomeOf(await enterPin(phone, asked, WRONG_PIN))).toMatchObject({ isoResponseCode: '55' });
      const again = await tapForPin(phone);
      expect(outcomeOf(await enterPin(phone, again, RIGHT_PIN)).type).toBe('Approved');
      await changeKeys(installation);
    }
    expect(installation.simulator.counters()[0]).toMatchObject({ refused: 0 });
  });
});

describe('a failed exchange keeps the previous keys', () => {
  async function withScriptedSwitch(keyExchange: KeyExchangeConfig) {
    const type1 = (await loadProcessors()).get('type-1')!;
    const config = { ...type1.exampleConfig, macKeys: MAC_KEYS, pinKey: ZONE_PIN, keyExchange };
    const hsm = demoHsm([config], 'dev');
    const scripted = await ScriptedSwitch.open({ config, macKeys: (keyId, method) => hsm.keyMac(keyId, method) });
    closers.push(() => scripted.close());
    const { macKeys, pinKey } = config;
    const installation = await install('type-1', {
      connectTo: async () => scripted.port,
      config: { macKeys, pinKey, keyExchange },
    });
    return { installation, scripted, hsm, keyChange: type1.keyChange!, config };
  }

  test('a failed exchange keeps the previous keys if the announcement is garbled, has a wrong check value, or comes from a sender without a key', async () => {
    const { installation, scripted, hsm, keyChange, config } = await withScriptedSwitch(
      exchangeOf('type-1', { startedBy: 'switch' }),
    );
    await installation.startGateway();
    let stan = 0;
    const announced = async (key: WrappedKey, change: (bytes: Uint8Array) => void = () => {}, isMacSpoilt = false) => {
      const stamp = { stan: String(++stan).padStart(6, '0'), sentAtMs: Date.now() };
      const announcement = keyChange.announcement(key, stamp, config);
      change(announcement.securityControl as Uint8Array);
      scripted.send(scripted.lines[0]!, announcement, isMacSpoilt);
      const response = await eventually(() => {
        const found = scripted.responses.find((each) => each.stan === stamp.stan);
        if (!found) throw new Error('no response');
        return found;
      });
      return response.responseCode;
    };
    const made = async (number: number): Promise<WrappedKey> => {
      const named = { keyId: `made-${number}`, usage: 'pin', algorithm: 'tdes', lengthBytes: 16 } as const;
      const key = await hsm.generateKey({ ...named, transportKeyId: 'transport' });
      if (!('cryptogram' in key)) throw new Error('no cryptogram');
      return { use: 'pin', number, wrapped: { cryptogram: key.cryptogram }, kcv: key.kcv };
    };
    const key = await made(1);
    expect(await announced(key, (bytes) => bytes.fill(0, 2))).toBe('30');
    expect(await announced({ ...key, kcv: key.kcv === '000000' ? '111111' : '000000' })).toBe('63');
    expect(await announced(key, undefined, true)).toBe('63');
    expect((await installation.switchStats()).keyExchange).toMatchObject({ exchanged: 0, failed: 3, keys: [] });
    expect(await tap(installation)).toBe('Approved');

    expect(await announced(key)).toBe('00');
    expect(await announced(key)).toBe('00'); // the switch did not receive the response
    // A key that was announced at the same moment remains valid.
    await installation.database.query(`update exchanged_keys set announced_at = announced_at - interval '6 s'`);
    expect(await announced(await made(2))).toBe('00');
    expect(await announced(key)).toBe('63'); // an earlier key
    expect((await installation.switchStats()).keyExchange).toMatchObject({
      exchanged: 2,
      keyless: { mac: 0, pin: 0 },
      keys: [{ number: 2 }, { number: 1, kcv: key.kcv }],
    });
    const phone = installation.phone();
    const reading = phone.read({ amount: '50.05', currency: 'ZAR' });
    scripted.onRequest = ({ respond }) => respond({ asksForPin: true, authorizationCode: undefined });
    const asked = askedFor(reading, await phone.submit(await phone.sealReading(reading)));
    scripted.onRequest = ({ respond }) => respond();
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
    const withPin = scripted.of('0200').find(({ message }) => message.pinBlock !== undefined)!.message;
    expect([...(withPin.securityControl as Uint8Array).subarray(0, 3)]).toEqual([1, 2, 0]);
  });
});
