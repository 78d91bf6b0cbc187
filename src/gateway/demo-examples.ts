import { randomUUID } from 'node:crypto';
import { type Client, createClient } from '#schemas/client';
import type { LiveExamples } from '../http/openapi/live-examples.ts';
import { Phone, signMerchantToken } from '../phone/phone.ts';
import { type Profile, readProfile } from '../phone/profile.ts';

const AMOUNT = '10.00';
const CURRENCY = 'ZAR';
/** Operations whose `id` is a sale's. */
const OF_THE_LAST_SALE = ['getTransaction', 'listEventsOfTransaction', 'refundSale', 'acknowledgeOutcome'];
/** Operations that take a reference which nothing has used yet, and how they call it. */
const CREATIONS = [
  ...['createDeepLink', 'createApplink', 'createTt3Applink'].map((operation) => `${operation}.paymentReference`),
  ...['createIntentTransaction', 'createTt3IntentTransaction'].map((operation) => `${operation}.paymentReference`),
  'createSessionIntentTransaction.paymentReference',
  'pushPaymentToDevice.merchantReference',
];
/** What a merchant's backend claims for itself, and not for its phones. */
const RIGHTS = 'createMobileProximityToken transactions:refund';
/** A receiver on one's own machine; whether there is one shows when something is sent. */
const CALLBACK_URL = 'http://127.0.0.1:9300/';
/** A phone that payments are pushed to, the same for every reader of the page. */
const DEVICE = { deviceInstallationId: 'phone-of-the-api-reference', friendlyName: 'Phone of this page' };
/** What 2.4 says of a debit order. */
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
 * Makes examples for the API reference of a demo, by the profile that it has written: with its credentials, a tap that was
 * sealed a moment ago, a link that was made for it, and a sale that there is.
 *
 * @param path of the profile; read each time, since the demo writes it when it starts
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

/** A link and a TT3 link that stand open, for the operations that ask what became of one. */
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

/** Half of what a session lasts: whoever has the page open can use it for as long again. */
const LOGIN_KEPT_MS = 30 * 60_000;

/** To check a password takes a core for a third of a second: not each time that somebody opens the page. */
function createLogin(): Login {
  let kept: { readonly token: string; readonly username: string; readonly atMs: number } | undefined;
  return async (client, { login }) => {
    if (kept?.username === login.username && performance.now() - kept.atMs < LOGIN_KEPT_MS) return kept.token;
    const session = await unlessRefused(client.logIn({ body: login }));
    kept = session && { token: session.token, username: login.username, atMs: performance.now() };
    return session?.token;
  };
}

/** Of an app with a constant merchant, and of a reader. */
async function getTokens(byKey: Client, byToken: Client, { merchant }: Profile) {
  const [app, reader] = await Promise.all([
    unlessRefused(byKey.issueIntentSessionToken({ body: { merchantId: merchant.id } })),
    unlessRefused(byToken.getProximityToken()),
  ]);
  return { intentSessionToken: app?.token, proximityToken: reader?.token };
}

/** Among so many of the last there is a sale, in a demo. */
const RECENT = 50;
const TAP = 1;

/** The last sales that were approved, of users and not of links; what is not there has an id of nothing. */
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

/** An example that cannot be made is one less: the page is there all the same. */
function unlessRefused<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  return asked.catch(() => undefined);
}

function given<Value>(values: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
