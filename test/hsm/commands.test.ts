import { describe, expect, test } from 'vitest';
import { FieldFault, FieldReader, type HostCommand, type Lmk } from '../../src/hsm-devices/payshield/host-command.ts';
import {
  deviceStatus,
  diagnostics,
  echo,
  generateMac,
  importKey,
  keyCheckValue,
  translateDukptPin,
  translateZonePin,
  verifyMac,
} from '../../src/hsm-devices/payshield/payshield-commands.ts';

const variant: Lmk = { form: 'variant' };
const keyBlock: Lmk = { form: 'keyBlock', id: '01' };

const text = (command: HostCommand<unknown>) => command.code + Buffer.from(command.body).toString('latin1');
const read = <Result>(command: HostCommand<Result>, fields: string, errorCode = '00') =>
  command.read(new FieldReader(Buffer.from(fields, 'latin1')), errorCode);

const ZPK_A = 'UBB224A0D70899E7D216A4DDDA615C078';
const ZPK_B = 'UEE424E608E9CF0071E239F9E15032C81';
const ZPK_BLOCK = 'S00072P0TB00E0001EA421618B34F5FA1A77F7CF6480111B97CF0FAE7BD77D589EC921EF9';
const MESSAGE = Buffer.from('22\u001c002000001\u001c\u001c05151009\u001cF\u001c60000', 'latin1');

/** Commands that ut-codec-payshield, an open codec for payShield 9000, lists with their bytes. */
describe('commands have the bytes that an open codec lists', () => {
  const zonePin = {
    lmk: variant,
    sourceKey: ZPK_A,
    destinationKey: ZPK_B,
    block: '14D3E09CD3B6456E',
    sourceFormat: '01',
    destinationFormat: '01',
    accountNumber: '540028800010',
  } as const;

  test('CC with keys under a variant LMK', () => {
    const command = translateZonePin({ ...zonePin, sourceType: 'ZPK' });
    expect(text(command)).toBe(`CC${ZPK_A}${ZPK_B}1214D3E09CD3B6456E0101540028800010`);
    expect(read(command, '060E4A2BFA78E244FF01')).toBe('0E4A2BFA78E244FF');
  });

  test('CA has the same fields', () => {
    expect(text(translateZonePin({ ...zonePin, sourceType: 'TPK' }))).toBe(
      `CA${ZPK_A}${ZPK_B}1214D3E09CD3B6456E0101540028800010`,
    );
  });

  test('CC with key blocks names the LMK at the end', () => {
    const keys = { sourceKey: ZPK_BLOCK, destinationKey: ZPK_BLOCK };
    expect(text(translateZonePin({ ...zonePin, ...keys, lmk: keyBlock, sourceType: 'ZPK' }))).toBe(
      `CC${ZPK_BLOCK}${ZPK_BLOCK}1214D3E09CD3B6456E0101540028800010%01`,
    );
  });

  const dukptPin = {
    lmk: variant,
    bdk: 'U3702EF0DEF15CB6DD5367784A7102C3E',
    destinationKey: 'U3CBFC71309FC372E9A32EA67BE4C81C9',
    ksnDescriptor: 'A05',
    ksn: 'FFFF000001315240003A',
    block: '496F07B85222517D',
    sourceFormat: '01',
    destinationFormat: '01',
    accountNumber: '540008900009',
  } as const;

  test('G0', () => {
    const command = translateDukptPin(dukptPin);
    expect(text(command)).toBe(
      'G0U3702EF0DEF15CB6DD5367784A7102C3EU3CBFC71309FC372E9A32EA67BE4C81C9A05FFFF000001315240003A496F07B85222517D0101540008900009',
    );
    expect(read(command, '0675DB0D1ADD975CF801')).toBe('75DB0D1ADD975CF8');
  });

  test('G0 to another BDK', () => {
    const from = 'S00072B0TN00E0001566678078B5337915F4860C92F3FF2D6A6B11E8786F22DC8032EB758';
    const to = 'S00072B0TN00E0001134E8D68D46BC8356F84F598155A1B5C44199D9847A2A58B64BE091F';
    const ksn = 'FFFF000001315240003A';
    const request = { ...dukptPin, bdk: from, destinationKey: to, destinationKsn: ksn, block: '741311DA9D5D6C32' };
    const command = { ...request, lmk: keyBlock, accountNumber: '600000000000' };
    expect(text(translateDukptPin(command))).toBe(
      `G0${from}${to}A05${ksn}A05${ksn}741311DA9D5D6C320101600000000000%01`,
    );
    expect(text(translateDukptPin({ ...dukptPin, destinationKsn: ksn }))).toContain(`*${dukptPin.destinationKey}A05`);
  });

  const mac = {
    lmk: variant,
    keyType: 'ZAK',
    key: 'UF759EF72F15F88933CB9B86E54C9DC83',
    algorithm: '3',
    padding: '1',
    message: MESSAGE,
    macBytes: 4,
  } as const;

  test('M6 and M8 of a binary message', () => {
    const fields = `00031008UF759EF72F15F88933CB9B86E54C9DC83001E${MESSAGE.toString('latin1')}`;
    expect(text(generateMac(mac))).toBe(`M6${fields}`);
    expect(text(verifyMac(mac, 'BF26765E'))).toBe(`M8${fields}BF26765E`);
    expect(read(generateMac(mac), 'BF26765E')).toBe('BF26765E');
    expect(read(verifyMac(mac, 'BF26765E'), '')).toBe(true);
    expect(read(verifyMac(mac, 'BF26765E'), '', '01')).toBe(false);
  });

  test('M6 with a key block has the key type FFF', () => {
    const key = 'S00072M1TN00E0001FFE01E95CF21BDD0D74B6BEB70E3D90842C137DCA39C1B162C6238D5';
    expect(text(generateMac({ ...mac, lmk: keyBlock, key, algorithm: '1' }))).toBe(
      `M600011FFF${key}001E${MESSAGE.toString('latin1')}%01`,
    );
  });

  test('A6 of a bare cryptogram', () => {
    const command = importKey({
      lmk: variant,
      keyType: 'TPK',
      zmk: 'UE6565E2D55B9463120398E7729DA524E',
      key: 'XA921158D2F2571942EA0B770637F005C',
      scheme: 'U',
    });
    expect(text(command)).toBe('A6002UE6565E2D55B9463120398E7729DA524EXA921158D2F2571942EA0B770637F005CU');
    expect(read(command, 'U77338F74A19E3BB39062A5A479473FC86AE7CD')).toEqual({
      key: 'U77338F74A19E3BB39062A5A479473FC8',
      kcv: '6AE7CD',
      hasOddParity: true,
    });
    expect(read(command, 'U77338F74A19E3BB39062A5A479473FC86AE7CD', '01')?.hasOddParity).toBe(false);
    expect(read(command, '', '01')).toBeUndefined();
  });

  test('A6 into a key block', () => {
    const zmk = 'S00072K0TB00E0001DB045F29C053EEFF7B9425B3A88C7258EB7EA7E40E2C47878647072A';
    const request = { lmk: keyBlock, keyType: 'ZPK', zmk, key: ZPK_BLOCK, scheme: 'S' } as const;
    expect(text(importKey(request))).toBe(`A6FFF${zmk}${ZPK_BLOCK}S%01`);
    expect(
      text(
        importKey({
          ...request,
          key: 'XA921158D2F2571942EA0B770637F005C',
          attributes: { usage: 'P0', modeOfUse: 'B' },
        }),
      ),
    ).toBe(`A6FFF${zmk}XA921158D2F2571942EA0B770637F005CS%01#P0B00N00`);
    const block = 'S00072P0TB00N0001EA421618B34F5FA1A77F7CF6480111B921F02973DFC5A06F345B34FB';
    expect(read(importKey(request), `${block}4FE9FD`)).toEqual({ key: block, kcv: '4FE9FD', hasOddParity: true });
  });

  test('BU of a key of each form', () => {
    const key = 'U77338F74A19E3BB39062A5A479473FC8';
    expect(text(keyCheckValue({ lmk: variant, keyType: 'TPK', key }))).toBe(`BUFF1${key};002;001`);
    const block = 'S00072K0TB00E0001DB045F29C053EEFF7B9425B3A88C7258EB7EA7E40E2C47878647072A';
    expect(text(keyCheckValue({ lmk: { form: 'keyBlock' }, keyType: 'ZMK', key: block }))).toBe(
      `BUFFF${block};FFF;001`,
    );
    expect(read(keyCheckValue({ lmk: variant, keyType: 'TPK', key }), '8FFED1')).toBe('8FFED1');
  });
});

describe('the diagnostics', () => {
  test('NC', () => {
    expect(text(diagnostics())).toBe('NC');
    expect(read(diagnostics(), '26860475888891400007-E000')).toEqual({
      lmkCheckValue: '2686047588889140',
      firmware: '0007-E000',
    });
  });

  test('NO of older and newer firmware', () => {
    expect(text(deviceStatus())).toBe('NO00');
    expect(read(deviceStatus(), '31641500-002800000')).toMatchObject({ ioBufferBytes: 32_768, tcpSockets: 64 });
    expect(read(deviceStatus(), '3100641500-002800000')).toMatchObject({ tcpSockets: 64, firmware: '1500-0028' });
  });

  test('B2 requires its own data', () => {
    expect(text(echo('PING'))).toBe('B20004PING');
    expect(() => read(echo('PING'), 'PING')).not.toThrow();
    expect(() => read(echo('PING'), 'PONG')).toThrow(FieldFault);
  });
});

describe('a response with other fields than the manual states is refused', () => {
  const command = keyCheckValue({ lmk: variant, keyType: 'ZPK', key: ZPK_A });
  const zonePin = translateZonePin({
    lmk: variant,
    sourceType: 'ZPK',
    sourceKey: ZPK_A,
    destinationKey: ZPK_B,
    block: '14D3E09CD3B6456E',
    sourceFormat: '01',
    destinationFormat: '47',
    accountNumber: '540028800010',
  });

  test.each(['', '8FFED', '8ffed1', '8FFED1A', '8FFEDX'])('BV %s', (fields) => {
    expect(() => read(command, fields)).toThrow(FieldFault);
  });

  test.each([
    '04',
    '040E4A2BFA78E244FF',
    '040E4A2BFA78E244FF01',
    'XX0E4A2BFA78E244FF47',
    '040E4A2BFA78E244FF47X',
  ])('CD %s', (fields) => {
    expect(() => read(zonePin, fields)).toThrow(FieldFault);
  });
});
