import { randomUUID } from 'node:crypto';
import { type Client, createClient } from '#schemas/client';
import type { LiveExamples } from '../../http/openapi/live-examples.ts';
import { Phone, signMerchantToken } from '../../tools/phone/phone.ts';
import { type Profile, readProfile } from '../../tools/phone/profile.ts';

const AMOUNT = '10.00';
const CURRENCY = 'ZAR';
/** Operations whose `id` is that of a sale. */
const OF_THE_LAST_SALE = ['getTransaction', 'listEventsOfTransaction', 'refundSale', 'acknowledgeOutcome'];
/** Operations that need an unused reference, with the name of that property. */
const CREATIONS = [
  ...['createDeepLink', 'createApplink', 'createTt3Applink'].map((operation) => `${operation}.paymentReference`),
  ...['createIntentTransaction', 'createTt3IntentTransaction'].map((operation) => `${operation}.paymentReference`),
  'createSessionIntentTransaction.paymentReference',
  'pushPaymentToDevice.merchantReference',
];
/** Scopes of the token that the merchant's backend uses itself; its phones get none. */
const RIGHTS = 'createMobileProximityToken transactions:refund';
/** A receiver on the reader's machine. It need not run until a webhook is sent. */
const CALLBACK_URL = 'http://127.0.0.1:9300/';
/** A phone that receives pushed payments, the same for every reader of the page. */
const DEVICE = { deviceInstallationId: 'phone-of-the-api-reference', friendlyName: 'Phone of this page' };
/** The properties of a debit order (interface 2.4). */
const MANDATE = {
  collectionDay: 1,
  creditorABSN: 'ACME INSURE',
  accountNumber: '62001234567',
  idNumber: '8001015009087',
  instalmentVisibility: 'both',
  contractReference: 'contract-12',
  instalmentAmount: '250.00',
  maxCollectionAmount: '300.00',
} as const;

/**
 * Creates examples for the API reference of a demo from the profile that the demo has written: its credentials, a
 * freshly sealed tap, a new link for that tap, and an existing sale.
 *
 * @param path of the profile; it is read for each request, because the demo writes it at its start
 */
export function createDemoExamples(path: string): () => Promise<LiveExamples> {
  const logIn = createLogin();
  return () => demoExamples(readProfile(path), logIn);
}

async function demoExamples(profile: Profile, logIn: Login): Promise<LiveExamples> {
  const phone = new Phone(profile);
  const { deviceInstallationId, ...tap } = await phone.seal({ amount: AMOUNT, currency: CURRENCY });
  const { merchant, login } = profile;
  const merchantToken = await signMerchantToken(profile, { scope: RIGHTS });
  const byKey = createClient({ baseUrl: profile.url, credentials: { apiKey: profile.apiKey } });
  const byToken = createClient({ baseUrl: profile.url, credentials: { token: merchantToken } });
  const [links, loginToken, tokens, sales, device, event] = await Promise.all([
    makeLinks(byKey, profile),
    logIn(byKey, profile),
    getTokens(byKey, byToken, profile),
    lastSales(byKey, merchant.id),
    unlessRefused(byToken.registerDevice({ body: { ...DEVICE, pushToken: 'none' } })),
    unlessRefused(byKey.listWebhookEvents({ query: { limit: 1 } })),
  ]);
  return {
    credentials: given({ apiKey: profile.apiKey, merchantToken, loginToken, ...tokens, intentToken: links.token }),
    values: given({
      ...tap,
      ...login,
      'X-Device-Installation-Id': deviceInstallationId,
      ...DEVICE,
      ...sales,
      ...links.values,
      ...Object.fromEntries(CREATIONS.map((name) => [name, `order-${randomUUID()}`])),
      merchantId: merchant.id,
      amount: AMOUNT,
      'refundSale.amount': '1.00',
      currency: CURRENCY,
      currencyCode: CURRENCY,
      refundReference: `refund-${randomUUID()}`,
      timestamp: new Date().toISOString(),
      callbackUrl: CALLBACK_URL,
      deviceId: DEVICE.deviceInstallationId,
      'renameDevice.id': device?.id,
      'listAttemptsOfWebhookEvent.id': event?.[0]?.id,
      'replayWebhookEvent.id': event?.[0]?.id,
      token: merchantToken,
    }),
  };
}

/** An open link and an open TT3 link, for operations that ask for the state of one. */
async function makeLinks(client: Client, { merchant }: Profile) {
  const body = () => ({
    merchantId: merchant.id,
    paymentReference: `order-${randomUUID()}`,
    amount: AMOUNT,
    timestamp: new Date().toISOString(),
    currencyCode: CURRENCY,
    isConsumerApp: true,
    image: { required: false },
  });
  const [link, mandate] = await Promise.all([
    unlessRefused(client.createApplink({ body: body() })),
    unlessRefused(client.createTt3Applink({ body: { ...body(), ...MANDATE } })),
  ]);
  return {
    token: link && new URL(link.url).hash.slice(1),
    values: {
      'getLinkStatus.reference': link?.reference,
      'getLinkDetails.id': link?.reference,
      'acknowledgeLink.qrCodeId': link?.reference,
      'getTt3LinkStatus.reference': mandate?.reference,
    },
  };
}

type Login = (client: Client, profile: Profile) => Promise<string | undefined>;

/** Half the duration of a session, so that a reader of the page can use the token for as long again. */
const LOGIN_KEPT_MS = 30 * 60_000;

/** A password check occupies a core for a third of a second, so the login is not repeated for each request. */
function createLogin(): Login {
  let kept: { readonly token: string; readonly username: string; readonly atMs: number } | undefined;
  return async (client, { login }) => {
    if (kept?.username === login.username && performance.now() - kept.atMs < LOGIN_KEPT_MS) return kept.token;
    const session = await unlessRefused(client.logIn({ body: login }));
    kept = session && { token: session.token, username: login.username, atMs: performance.now() };
    return session?.token;
  };
}

/** The tokens of an app with a constant merchant, and of a reader. */
async function getTokens(byKey: Client, byToken: Client, { merchant }: Profile) {
  const [app, reader] = await Promise.all([
    unlessRefused(byKey.issueIntentSessionToken({ body: { merchantId: merchant.id } })),
    unlessRefused(byToken.getProximityToken()),
  ]);
  return { intentSessionToken: app?.token, proximityToken: reader?.token };
}

/** In a demo, this many recent transactions include a sale. */
const RECENT = 50;
const TAP = 1;

/** The latest approved sales made by users, not by links. If one is missing, its id is the nil UUID. */
async function lastSales(client: Client, merchant: string): Promise<Readonly<Record<string, string>>> {
  const query = { merchant, transactionDisposition: 'Approved', limit: RECENT } as const;
  const recent = (await unlessRefused(client.listTransactions({ query }))) ?? [];
  const [last, before] = recent.filter((each) => each.transactionTypeId === TAP && each.userId !== '');
  const id = last?.id ?? randomUUID();
  return {
    ...Object.fromEntries(OF_THE_LAST_SALE.map((operation) => [`${operation}.id`, id])),
    'voidSale.id': before?.id ?? randomUUID(),
    ...(last && {
      'acknowledgeOutcome.X-Device-Installation-Id': last.deviceinstallationId,
      'getTapOnOwnStatus.merchantReference': last.merchantTransactionReference,
    }),
  };
}

/** An example that cannot be created is omitted; the page is shown nevertheless. */
function unlessRefused<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  return asked.catch(() => undefined);
}

function given<Value>(values: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
