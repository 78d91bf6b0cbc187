import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CardDataKeySet, CardDataPublicKey } from '../../schemas/card-data.ts';
import { TAP_REFUSALS, type TapRefusalCode } from '../../src/basics/errors.ts';
import { sampleTap } from '../../src/card/sample-tap.ts';
import { encodeTlv } from '../../src/codecs/emv/tlv.ts';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import type { Phone, PhoneResponse } from '../../src/tools/phone/phone.ts';
import { digestOf, sealMadeUp } from '../support/card-data.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
let recipient: CardDataPublicKey;
beforeAll(async () => {
  installation = await startInstallation();
  const { body } = await request(installation.url, '/.well-known/card-data-keys.json');
  recipient = (body as CardDataKeySet).keys[0]!;
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const UNREADABLE = { pointer: '/paymentCardData', detail: TAP_REFUSALS.CARD_DATA_UNREADABLE };

/** The tap is refused with 400, the switch receives nothing, and exactly one row records the attempt. */
async function expectRefused(
  submit: () => Promise<PhoneResponse>,
  { errorCode, ...fault }: { readonly errorCode: number; readonly pointer: string; readonly detail: string },
): Promise<void> {
  const { database } = installation;
  const count = async () => (await database.query('select from transactions')).rowCount!;
  const [rowsBefore, askedBefore] = [await count(), installation.asked];
  const problem = problemOf(await submit());
  expect(problem).toMatchObject({ status: 400, errorCode, errors: [fault] });
  expect(installation.asked).toEqual(askedBefore);
  expect(await count()).toBe(rowsBefore + 1);
  const { rows } = await database.query(
    'select id, status, disposition, stan from transactions order by created_at desc limit 1',
  );
  expect(rows).toMatchObject([{ status: 0, disposition: null, stan: null }]);
  expect(await trailOf(database, rows[0].id)).toEqual(['BadRequestReceived']);
}

describe('card data that does not open is refused in the same way for every cause', () => {
  const seal = (phone: Phone) => phone.seal(TAP);

  const broken: readonly (readonly [string, (phone: Phone, tap: TapRequest) => Promise<TapRequest> | TapRequest])[] = [
    ['the JWE is cut short', (_, tap) => ({ ...tap, paymentCardData: tap.paymentCardData.slice(0, -8) })],
    ['a byte of the ciphertext is another', (_, tap) => ({ ...tap, paymentCardData: flipped(tap.paymentCardData) })],
    ['it is not Base64', (_, tap) => ({ ...tap, paymentCardData: '*'.repeat(80) })],
    ['it is not a JWE', (_, tap) => ({ ...tap, paymentCardData: Buffer.from('no JWE').toString('base64') })],
    [
      'it is bare TLV',
      (_, tap) => ({ ...tap, paymentCardData: Buffer.from('9F2701805A0841', 'hex').toString('base64') }),
    ],
    [
      'it was sealed for another device',
      async (phone, tap) => ({
        ...(await installation.phone().seal(TAP)),
        deviceInstallationId: phone.deviceInstallationId,
        merchantReference: tap.merchantReference,
      }),
    ],
    [
      'it was sealed for another reference',
      async (phone, tap) => ({ ...(await phone.seal(TAP)), merchantReference: tap.merchantReference }),
    ],
    [
      'the general blob is not the one it vouches for',
      async (phone, tap) => ({
        ...tap,
        generalCardData: (await phone.seal({ ...TAP, amount: '9.00' })).generalCardData,
      }),
    ],
    ['the general blob is not Base64', (_, tap) => ({ ...tap, generalCardData: '****' })],
    ['the general blob is no TLV', (phone, tap) => sealed(phone, tap, { general: Buffer.from('5F', 'hex') })],
    [
      'the general blob ends inside a value',
      (phone, tap) => sealed(phone, tap, { general: Buffer.from('9F0206000000', 'hex') }),
    ],
    ['the sealed blob is no TLV', (phone, tap) => sealed(phone, tap, { payment: Buffer.from('9F', 'hex') })],
    [
      'the sealed blob has a length of indefinite form',
      (phone, tap) => sealed(phone, tap, { payment: Buffer.from('70805A0841111111111111110000', 'hex') }),
    ],
    [
      'both blobs have an amount, and not the same',
      (phone, tap) =>
        sealed(phone, tap, { payment: encodeTlv([{ tag: 0x9f02, value: Buffer.from('000000000001', 'hex') }]) }),
    ],
  ];
  test.each(broken)('%s', async (_what, breakIt) => {
    const phone = installation.phone();
    const tap = await breakIt(phone, await seal(phone));
    await expectRefused(() => phone.submit(tap), { errorCode: 202, ...UNREADABLE });
    const key = { 'x-api-key': await installation.apiKey() };
    const { body } = await request(installation.url, '/transactions?limit=1', { headers: key });
    expect(body).toMatchObject([{ status: 'BadRequestReceived', amount: null, amountMinor: null, currency: null }]);
  });
});

/** Correctly sealed blobs with content that no reader writes. */
function sealed(
  phone: Phone,
  { merchantReference }: TapRequest,
  made: { general?: Uint8Array; payment?: Uint8Array },
): TapRequest {
  const { deviceInstallationId } = phone;
  const general = made.general ?? encodeTlv([{ tag: 0x9f02, value: Buffer.from('000000001000', 'hex') }]);
  const plaintext = Buffer.concat([made.payment ?? Buffer.alloc(0), encodeTlv([digestOf(general)])]);
  return sealMadeUp(recipient, { general, plaintext, binding: { deviceInstallationId, merchantReference } });
}

function flipped(base64: string): string {
  const compact = Buffer.from(base64, 'base64').toString('latin1');
  const parts = compact.split('.');
  const ciphertext = Buffer.from(parts[3]!, 'base64url');
  ciphertext[0]! ^= 1;
  parts[3] = ciphertext.toString('base64url');
  return Buffer.from(parts.join('.')).toString('base64');
}

describe('a tap that must not be sent online is refused with its own code', () => {
  type Change = (values: Map<number, Uint8Array>) => unknown;
  const set =
    (tag: number, hex: string): Change =>
    (values) =>
      values.set(tag, Buffer.from(hex, 'hex'));
  const remove =
    (...tags: number[]): Change =>
    (values) => {
      for (const tag of tags) values.delete(tag);
    };
  const refundAac: Change = (values) => {
    set(0x9c, '20')(values);
    set(0x9f27, '00')(values);
  };
  const general = (code: TapRefusalCode) => ({
    errorCode: 104,
    pointer: '/generalCardData',
    detail: TAP_REFUSALS[code],
  });
  const payment = (code: TapRefusalCode) => ({
    errorCode: 202,
    pointer: '/paymentCardData',
    detail: TAP_REFUSALS[code],
  });

  test.each([
    ['no amount', remove(0x9f02), general('AMOUNT_MISSING')],
    ['an amount of five bytes', set(0x9f02, '0000001000'), general('AMOUNT_MISSING')],
    ['an amount that is not digits', set(0x9f02, '00000000100F'), general('AMOUNT_MISSING')],
    ['no currency', remove(0x5f2a), general('CURRENCY_MISSING')],
    ['a currency that does not exist', set(0x5f2a, '0000'), general('CURRENCY_MISSING')],
    ['a currency of four digits', set(0x5f2a, '1710'), general('CURRENCY_MISSING')],
    ['no card', remove(0x57), payment('PAN_MISSING')],
    ['a PAN in 5A that is not the one in 57', set(0x5a, '5413330089010640'), payment('PAN_MISMATCH')],
    [
      'a PAN whose check digit is wrong',
      set(0x57, '4111111111111112D31122010000000000F'.padEnd(36, 'F')),
      payment('PAN_LUHN'),
    ],
    ['a track 2 without an expiry', set(0x57, '4111111111111111D31F'), payment('TRACK2_MALFORMED')],
    ['an offline approval (TC)', set(0x9f27, '40'), payment('APPROVED_OFFLINE')],
    ['a cryptogram that EMV reserves', set(0x9f27, 'C0'), payment('CRYPTOGRAM_RFU')],
    ['no word about the cryptogram', remove(0x9f27), payment('CRYPTOGRAM_MISSING')],
    ['a card read as a magnetic stripe', remove(0x9f27, 0x9f26), payment('MAGSTRIPE_MODE')],
    ['a sequence number of one digit', set(0x5f34, '0F'), payment('SEQUENCE_NUMBER_MALFORMED')],
    ['a cryptogram of three bytes', set(0x9f26, '010203'), payment('VALUE_MALFORMED')],
    ['issuer data of 200 bytes', set(0x9f10, 'AB'.repeat(200)), payment('VALUE_MALFORMED')],
    ['a date that is not digits', set(0x9a, 'FFFFFF'), payment('VALUE_MALFORMED')],
    ['a terminal verification result without a byte', set(0x95, ''), payment('VALUE_MALFORMED')],
    ['a latitude with a control character', set(0xdf8a03, '0A'), general('TEXT_MALFORMED')],
    ['an online cryptogram that is announced and missing (ARQC)', remove(0x9f26), payment('ARQC_MISSING')],
    ['no transaction type', remove(0x9c), general('TRANSACTION_TYPE_MISSING')],
    ['a cash advance', set(0x9c, '01'), general('TRANSACTION_TYPE_UNSUPPORTED')],
    ['a purchase with cashback', set(0x9c, '09'), general('TRANSACTION_TYPE_UNSUPPORTED')],
    ['a refund', set(0x9c, '20'), general('TRANSACTION_TYPE_UNSUPPORTED')],
    ['a balance inquiry', set(0x9c, '30'), general('TRANSACTION_TYPE_UNSUPPORTED')],
    ['a refund that the card declined (AAC)', refundAac, general('TRANSACTION_TYPE_UNSUPPORTED')],
    ['a transaction type of two bytes', set(0x9c, '0000'), general('TRANSACTION_TYPE_UNSUPPORTED')],
    ['a cashback amount', set(0x9f03, '000000000500'), payment('AMOUNT_OTHER_UNSUPPORTED')],
    ['a cashback amount in binary', set(0x9f04, '000001F4'), payment('AMOUNT_OTHER_UNSUPPORTED')],
    ['another amount in binary', set(0x81, '000003E9'), payment('AMOUNT_CONFLICT')],
    ['another currency exponent', set(0x5f36, '00'), payment('CURRENCY_EXPONENT_CONFLICT')],
    ['an amount of zero', set(0x9f02, '000000000000'), general('AMOUNT_ZERO')],
  ] as const)('%s', async (_what, tamper, refusal) => {
    const phone = installation.phone();
    await expectRefused(() => phone.tap({ ...TAP, tamper: (values) => void tamper(values) }), refusal);
  });

  test('two different tracks in one blob', async () => {
    const phone = installation.phone();
    const tap = await phone.seal(TAP);
    const at = new Date();
    const values = [...sampleTap({ amountMinor: 1_000, currencyNumeric: '710', at })].map(([tag, value]) => ({
      tag,
      value,
    }));
    const other = { tag: 0x57, value: Buffer.from('5413330089010640D3112201000000000F', 'hex') };
    const made = {
      general: encodeTlv(values.filter(({ tag }) => tag === 0x9f02 || tag === 0x5f2a || tag === 0x9f27)),
      payment: encodeTlv([...values.filter(({ tag }) => tag === 0x57), other]),
    };
    await expectRefused(() => phone.submit(sealed(phone, tap, made)), payment('CONFLICTING_VALUES'));
  });
});

test('a card that declined offline (AAC) receives a response, is recorded as such, and is never sent', async () => {
  const { database, asked } = installation;
  const tamper = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0));
  const response = outcomeOf(await installation.phone().tap({ ...TAP, tamper }));
  expect(response).toMatchObject({ type: 'DeclinedOffline', errorCode: 2, isoResponseCode: '', amount: 1_000 });
  const { id } = await untilResponded(database, response.serviceReference);
  expect(await trailOf(database, id)).toEqual(['RequestReceived', 'RespondedToPhone']);
  expect(installation.asked).toEqual(asked);
});
