import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { intentRequest, linkRequest, tt3IntentRequest, tt3LinkRequest } from '../../schemas/link.ts';
import { Forbidden, NotFound, RequestRejected } from '../../src/basics/errors.ts';
import { createLink, type LinkServices, type MandateRequest } from '../../src/payments/links/create-link.ts';
import type { NewLink } from '../../src/payments/model/link.ts';
import { linkBody, MANDATE } from '../support/links.ts';

const OWNER = { acquirerId: 1, integratorId: 10 };
const HOUR_MS = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();

/** Services whose merchant 1001 belongs to the caller, and 1003 is blocked; `made` collects the created links. */
function openDesk(outcome: 'created' | 'exists' = 'created'): { services: LinkServices; made: NewLink[] } {
  const made: NewLink[] = [];
  const terminal = { xTid: 'TILL-1', tid: 'TW000001', mid: 'M1', canTakePin: true, profileName: null };
  const services: LinkServices = {
    links: {
      create: async (link) => {
        made.push(link);
        return outcome;
      },
      findCreated: async () => undefined,
    },
    tokens: { issue: async () => 'a.to.ken' },
    restoreHolds: { find: async () => undefined, hold: async () => {} },
    directory: {
      lostWindow: () => undefined,
      terminal: (_merchant, xTid) => (xTid === terminal.xTid ? terminal : undefined),
    },
    merchants: {
      findOwned: (_owner, id) =>
        ['1001', '1003'].includes(id) ? { integratorId: 10, isBlocked: id === '1003' } : undefined,
    },
    clock: { nowMs: Date.now },
    newId: () => '6d9f6a3e-5a7c-4d0f-9b1e-0a4f6d2f7c11',
    lifetimeMinutes: 15,
    appUrl: () => 'https://pay.example',
  };
  return { services, made };
}

/** Validates a body with its schema first, as the routes do. @returns pointers to the faults */
async function pointersOf(schema: z.ZodType, body: unknown): Promise<string[]> {
  const parsed = schema.safeParse(body);
  if (parsed.error) return [...new Set(parsed.error.issues.map(({ path }) => `/${path.join('/')}`))];
  const wanted = parsed.data as z.output<typeof linkRequest> & Partial<MandateRequest>;
  const mandate = wanted.collectionDay === undefined ? undefined : (wanted as unknown as MandateRequest);
  const { services, made } = openDesk();
  try {
    await createLink(services, OWNER, { ...wanted, mandate, kind: 'link', isConsumerApp: true });
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(RequestRejected);
    expect(made).toEqual([]);
    const { code, errors = [] } = error as RequestRejected;
    expect(code).toBe('INVALID_VALUES');
    return errors.map(({ pointer }) => pointer);
  }
}

describe('a fault in a request is reported with its field', () => {
  const LINK_FAULTS = [
    ['no merchantId', { merchantId: undefined }, '/merchantId'],
    ['a merchantId that is empty', { merchantId: '' }, '/merchantId'],
    ['a merchantId that is negative', { merchantId: -1 }, '/merchantId'],
    ['a merchantId with decimals', { merchantId: 1.5 }, '/merchantId'],
    ['a merchantId of 65 characters', { merchantId: '1'.repeat(65) }, '/merchantId'],
    ['a merchantId with NUL', { merchantId: '10\0' }, '/merchantId'],
    ['no paymentReference', { paymentReference: undefined }, '/paymentReference'],
    ['an empty paymentReference', { paymentReference: '' }, '/paymentReference'],
    ['a paymentReference of 256 characters', { paymentReference: 'x'.repeat(256) }, '/paymentReference'],
    ['a paymentReference that is a number', { paymentReference: 4711 }, '/paymentReference'],
    ['a paymentReference with a line feed', { paymentReference: 'a\nb' }, '/paymentReference'],
    ['no amount', { amount: undefined }, '/amount'],
    ['an amount of nothing', { amount: '0.00' }, '/amount'],
    ['an amount of the number nothing', { amount: 0 }, '/amount'],
    ['a negative amount', { amount: '-1.00' }, '/amount'],
    ['an amount with a comma', { amount: '1,00' }, '/amount'],
    ['an amount with an exponent', { amount: '1e3' }, '/amount'],
    ['an amount of more decimals than the currency', { amount: '1.005' }, '/amount'],
    ['an amount of a number of more decimals', { amount: 0.1 + 0.2 }, '/amount'],
    ['yen with decimals', { amount: '1.00', currencyCode: 'JPY' }, '/amount'],
    ['an amount of 13 digits', { amount: '10000000000.00' }, '/amount'],
    ['an amount that is huge', { amount: 1e30 }, '/amount'],
    ['an amount that is true', { amount: true }, '/amount'],
    ['no timestamp', { timestamp: undefined }, '/timestamp'],
    ['a timestamp without a time', { timestamp: '2026-11-20' }, '/timestamp'],
    ['a timestamp without a zone', { timestamp: '2026-11-20T10:00:00' }, '/timestamp'],
    ['a timestamp that is a number', { timestamp: Date.now() }, '/timestamp'],
    ['a timestamp of the day before', { timestamp: inHours(-25) }, '/timestamp'],
    ['a timestamp of the day after', { timestamp: inHours(25) }, '/timestamp'],
    ['no currencyCode', { currencyCode: undefined }, '/currencyCode'],
    ['a currencyCode in small letters', { currencyCode: 'zar' }, '/currencyCode'],
    ['a currencyCode in digits', { currencyCode: '710' }, '/currencyCode'],
    ['a currency that does not exist', { currencyCode: 'QQQ' }, '/currencyCode'],
    ['no isConsumerApp', { isConsumerApp: undefined }, '/isConsumerApp'],
    ['an isConsumerApp that is text', { isConsumerApp: 'true' }, '/isConsumerApp'],
    ['no image', { image: undefined }, '/image'],
    ['an image that is true', { image: true }, '/image'],
    ['an image without required', { image: {} }, '/image/required'],
    ['an image of 99 pixels', { image: { required: true, size: 99 } }, '/image/size'],
    ['an image of 1025 pixels', { image: { required: true, size: 1_025 } }, '/image/size'],
    ['a terminal that does not exist', { xTid: 'unknown' }, '/xTid'],
  ] as const;

  test.each(LINK_FAULTS)('a link: %s', async (_what, changes, pointer) => {
    expect(await pointersOf(linkRequest, linkBody('coffee', changes))).toEqual([pointer]);
  });

  test.each(
    LINK_FAULTS.filter(([, , pointer]) => !/image|isConsumerApp/.test(pointer)),
  )('an intent: %s', async (_what, changes, pointer) => {
    expect(await pointersOf(intentRequest, linkBody('coffee', changes))).toEqual([pointer]);
  });

  test.each([
    ['no collectionDay', { collectionDay: undefined }, '/collectionDay'],
    ['day 0', { collectionDay: 0 }, '/collectionDay'],
    ['day 32', { collectionDay: 32 }, '/collectionDay'],
    ['a day as text', { collectionDay: '1' }, '/collectionDay'],
    ['no creditorABSN', { creditorABSN: undefined }, '/creditorABSN'],
    ['no accountNumber', { accountNumber: undefined }, '/accountNumber'],
    ['an accountNumber of 35 characters', { accountNumber: '1'.repeat(35) }, '/accountNumber'],
    ['no idNumber', { idNumber: undefined }, '/idNumber'],
    ['an idNumber of 12 digits', { idNumber: '800101500908' }, '/idNumber'],
    ['an idNumber with a letter', { idNumber: '800101500908x' }, '/idNumber'],
    ['no instalmentAmount', { instalmentAmount: undefined }, '/instalmentAmount'],
    ['an instalment above the most', { instalmentAmount: '375.51' }, '/instalmentAmount'],
    ['an instalment of nothing', { instalmentAmount: '0' }, '/instalmentAmount'],
    ['an instalmentVisibility of its own', { instalmentVisibility: 'none' }, '/instalmentVisibility'],
    ['no maxCollectionAmount', { maxCollectionAmount: undefined }, '/maxCollectionAmount'],
    ['a maxCollectionAmount of too many decimals', { maxCollectionAmount: '375.505' }, '/maxCollectionAmount'],
    ['no contractReference', { contractReference: undefined }, '/contractReference'],
    ['a contractReference of 256 characters', { contractReference: 'x'.repeat(256) }, '/contractReference'],
  ])('a mandate: %s', async (_what, changes, pointer) => {
    for (const schema of [tt3LinkRequest, tt3IntentRequest]) {
      expect(await pointersOf(schema, linkBody('coffee', { ...MANDATE, ...changes }))).toEqual([pointer]);
    }
  });
});

describe('a valid request', () => {
  test.each([
    ['text with decimals', { amount: '12.50' }, 1_250],
    ['text without', { amount: '12' }, 1_200],
    ['a number', { amount: 12.5 }, 1_250],
    ['yen', { amount: '1200', currencyCode: 'JPY' }, 1_200],
    ['dinars', { amount: 1.125, currencyCode: 'BHD' }, 1_125],
    ['the least', { amount: '0.01' }, 1],
    ['the most', { amount: '9999999999.99' }, 999_999_999_999],
  ])('has its amount in minor units: %s', async (_what, changes, amountMinor) => {
    const { services, made } = openDesk();
    const body = linkRequest.parse(linkBody('coffee', changes));
    await createLink(services, OWNER, { ...body, kind: 'link' });
    expect(made).toMatchObject([{ amountMinor }]);
  });

  test.each([[1001], ['1001']])('names its merchant with %j, stored as text', async (merchantId) => {
    const { services, made } = openDesk();
    await createLink(services, OWNER, {
      ...intentRequest.parse(linkBody('coffee', { merchantId })),
      kind: 'intent',
      isConsumerApp: true,
    });
    expect(made).toMatchObject([
      { merchantId: '1001', integratorId: 10, acquirerId: 1, type: 1, mandate: null, xTid: null },
    ]);
  });

  test.each([[-23], [0], [23]])('was created %i hours from now', async (hours) => {
    expect(await pointersOf(linkRequest, linkBody('coffee', { timestamp: inHours(hours) }))).toEqual([]);
  });

  test('has a URL with the token behind its fragment, lives for its time, and has its terminal', async () => {
    const { services, made } = openDesk();
    const body = linkRequest.parse(linkBody('coffee', { xTid: 'TILL-1' }));
    const { url, token, qrCode } = await createLink(services, OWNER, { ...body, kind: 'link' });
    expect(url).toBe('https://pay.example/pay/6d9f6a3e-5a7c-4d0f-9b1e-0a4f6d2f7c11#a.to.ken');
    expect({ token, qrCode }).toEqual({ token: 'a.to.ken', qrCode: undefined });
    expect(made[0]!.xTid).toBe('TILL-1');
    expect(Math.abs(made[0]!.expiresAtMs - Date.now() - 15 * 60_000)).toBeLessThan(60_000);
  });

  test('a valid request with a mandate is a TT3', async () => {
    const { services, made } = openDesk();
    const body = tt3LinkRequest.parse(linkBody('coffee', MANDATE));
    await createLink(services, OWNER, { ...body, mandate: body, kind: 'link' });
    expect(made).toMatchObject([
      { type: 2, mandate: { instalmentMinor: 25_000, maxCollectionMinor: 37_550, collectionDay: 25 } },
    ]);
  });
});

describe('a refused request', () => {
  const body = (changes = {}) => ({ ...linkRequest.parse(linkBody('coffee', changes)), kind: 'link' as const });

  test("names another owner's merchant, an unknown one, or a blocked one", async () => {
    const { services, made } = openDesk();
    await expect(createLink(services, OWNER, body({ merchantId: '9999' }))).rejects.toBeInstanceOf(NotFound);
    await expect(createLink(services, OWNER, body({ merchantId: '1003' }))).rejects.toBeInstanceOf(Forbidden);
    expect(made).toEqual([]);
  });

  test('has a paymentReference in use: 409, 124', async () => {
    const { services } = openDesk('exists');
    await expect(createLink(services, OWNER, body())).rejects.toMatchObject({ code: 'PAYMENT_REFERENCE_USED' });
  });
});
