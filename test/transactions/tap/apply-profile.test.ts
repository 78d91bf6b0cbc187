import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TerminalProfileSettings } from '../../../schemas/terminal-profile.ts';
import { NoConfiguration, TapRefused } from '../../../src/basics/errors.ts';
import { encodeTlv, indexTlv, MAX_TLV_OBJECTS } from '../../../src/codecs/emv/tlv.ts';
import type { Directory, Principal } from '../../../src/payments/ports/directory-ports.ts';
import type { OpenedTap } from '../../../src/payments/ports/switch-ports.ts';
import { applyProfile, chooseProfile } from '../../../src/payments/taps/apply-profile.ts';
import { DIRECTORY, PRINCIPAL, TAP } from '../../simulation/simulated-tenant.ts';

const SOUTH_AFRICA: TerminalProfileSettings = {
  terminalCurrencyCode: '710',
  overrides: [
    {
      aid: 'A0000000031010',
      kernelID: '03',
      transactionTypeConfigs: [{ transactionType: '00', tlvDatabase: [{ tag: '9F1A', value: '0710' }] }],
    },
  ],
};

/** Profiles of acquirer 1 by name; its terminal uses the named one. */
function directoryWith(profiles: Record<string, TerminalProfileSettings>, ofTerminal: string | null = null): Directory {
  return {
    ...DIRECTORY,
    terminal: (merchant, xTid) => ({ ...DIRECTORY.terminal(merchant, xTid)!, profileName: ofTerminal }),
    terminalProfile: (acquirerId, name) => {
      const profile = acquirerId === 1 ? profiles[name] : undefined;
      return profile && { name, ...profile };
    },
  };
}

const by = (profileName: string | null): Principal => ({ ...PRINCIPAL, profileName });

function tapOf(objects: readonly (readonly [number, string])[]): OpenedTap {
  const general = encodeTlv(objects.map(([tag, hex]) => ({ tag, value: Buffer.from(hex, 'hex') })));
  const payment = new Uint8Array();
  return { general: indexTlv(general), payment: indexTlv(payment), bytes: { general, payment } };
}

const VISA_PURCHASE = [
  [0x84, 'A0000000031010'],
  [0x9c, '00'],
] as const;

describe('the profile in force', () => {
  const profiles = { token: SOUTH_AFRICA, terminal: { overrides: [] } };

  test('is that of the token, else that of the terminal, else none', () => {
    expect(chooseProfile(directoryWith(profiles, 'terminal'), by('token'))).toMatchObject({ name: 'token' });
    expect(chooseProfile(directoryWith(profiles, 'terminal'), by(null))).toMatchObject({ name: 'terminal' });
    expect(chooseProfile(directoryWith(profiles), by(null))).toBeUndefined();
    expect(chooseProfile(directoryWith(profiles, 'terminal'), { ...by(null), xTid: null })).toBeUndefined();
  });

  test('refuses if it is unknown, and another acquirer’s is unknown', () => {
    for (const principal of [by('unknown'), { ...by('token'), acquirerId: 2 }]) {
      expect(chooseProfile(directoryWith(profiles, 'terminal'), principal)).toMatchObject({ code: 'NO_PROFILE' });
    }
  });
});

describe('a tap', () => {
  const directory = directoryWith({ za: SOUTH_AFRICA });

  test('a tap without a profile is unchanged', () => {
    expect(applyProfile(directory, by(null), TAP)).toEqual({ opened: TAP, fault: undefined });
    expect(applyProfile(directory, by(null), TAP).opened).toBe(TAP);
  });

  test('a tap inside its profile and complete is unchanged', () => {
    expect(applyProfile(directory, by('za'), TAP).opened).toBe(TAP);
  });

  test('gets what is missing and not secret, in the bytes as well', () => {
    const { opened, fault } = applyProfile(directory, by('za'), tapOf(VISA_PURCHASE));
    expect(fault).toBeUndefined();
    for (const general of [opened.general, indexTlv(opened.bytes.general)]) {
      expect([general.hex(0x5f2a), general.hex(0x9f1a), general.hex(0x9c)]).toEqual(['0710', '0710', '00']);
    }
  });

  test('keeps every value of the reader', () => {
    const tapOfReader = tapOf([...VISA_PURCHASE, [0x9f1a, '0276']]);
    const { opened, fault } = applyProfile(directory, by('za'), tapOfReader);
    expect(fault).toBeInstanceOf(NoConfiguration);
    expect(fault!.message).toContain('country');
    expect(opened).toBe(tapOfReader);
  });

  test('a tap whose blob has no room for more is refused as card data', () => {
    const full = tapOf([...VISA_PURCHASE, ...Array(MAX_TLV_OBJECTS - 3).fill([0xdf01, '00'] as const)]);
    expect(() => applyProfile(directory, by('za'), full)).toThrow(TapRefused);
  });

  test('does not fail in any other way', () => {
    const object = fc.tuple(
      fc.constantFrom(0x84, 0x4f, 0x9c, 0x5f2a, 0x9f1a, 0x9f2a),
      fc.uint8Array({ maxLength: 20 }),
    );
    fc.assert(
      fc.property(fc.array(object, { maxLength: 12 }), (objects) => {
        const tap = tapOf(objects.map(([tag, value]) => [tag, Buffer.from(value).toString('hex')] as const));
        const { opened, fault } = applyProfile(directory, by('za'), tap);
        if (fault) expect(opened).toBe(tap);
        else expect([opened.general.hex(0x5f2a), opened.general.hex(0x9f1a)]).toEqual(['0710', '0710']);
      }),
    );
  });
});
