import { randomUUID } from 'node:crypto';

import type { Credential, KnownRoute } from '../../src/http/route-table.ts';
import type { Installation } from '../support/installation.ts';
import { AppPhone, linkBody, MANDATE } from '../support/links.ts';
import { sealPin, tapForPin } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';
import { untilResponded } from '../support/transactions.ts';
import { ADMINISTRATION } from './administration-rows.ts';
import { type Maker, type Row, row, type Sent } from './row.ts';
import { deviceBody, intentOf, made, NOWHERE, type Things } from './things.ts';

const HOUR_MS = 3_600_000;
const range = () => ({
  from: new Date(Date.now() - HOUR_MS).toISOString(),
  to: new Date(Date.now() + HOUR_MS).toISOString(),
});

const creation = (more: object = {}) => row(({ merchantId }) => ({ body: { ...linkBody(), ...more, merchantId } }));
const ofTransaction = ({ transactionId: id }: Things): Sent => ({ params: { id } });
const sale = (maker: Maker) => tapped(maker, 'merchantToken');

/** A sale of the merchant, from its phone or from an app with an intent. */
async function tapped({ installation, merchant, headers }: Maker, kind: Credential): Promise<Partial<Things>> {
  const intent = kind === 'intentToken' ? await intentOf(installation, merchant, headers) : undefined;
  const phone = intent
    ? new AppPhone(installation, { ...intent, id: intent.linkId, token: intent.intentToken })
    : installation.phone(merchant);
  const merchantReference = intent?.paymentReference;
  const response = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR', merchantReference }));
  await untilResponded(installation.database, response.serviceReference);
  return { transactionId: response.serviceReference, device: phone.deviceInstallationId, ...intent };
}

async function askedForPin({ installation, merchant, headers }: Maker, kind: Credential): Promise<Partial<Things>> {
  const intent = kind === 'intentToken' ? await intentOf(installation, merchant, headers, '50.05') : undefined;
  const phone = intent
    ? new AppPhone(installation, { ...intent, id: intent.linkId, token: intent.intentToken })
    : installation.phone(merchant);
  const asked = await tapForPin(phone, { merchantReference: intent?.paymentReference });
  return {
    pinTransactionId: asked.id,
    pin: await sealPin(phone, asked),
    device: phone.deviceInstallationId,
    ...intent,
  };
}

/** A tap that is sealed for its device and the reference, as every phone can do. */
function tapRow(installation: Installation): Row {
  return row(
    async ({ paymentReference }) => {
      const phone = installation.phone();
      const sealed = await phone.seal({ amount: '10.00', currency: 'ZAR', merchantReference: paymentReference });
      return { headers: { 'x-device-installation-id': phone.deviceInstallationId }, body: sealed };
    },
    {
      fresh: async ({ merchant, headers }, kind) =>
        kind === 'intentToken' ? intentOf(installation, merchant, headers) : { paymentReference: randomUUID() },
    },
  );
}

/**
 * Every route that requires a credential. The matrix fails for a route without a row: define here which things its
 * request names.
 */
export function rowsOf(installation: Installation): Readonly<Record<string, Row>> {
  return {
    ...ADMINISTRATION,
    'GET /acquirers/me': row(() => ({})),
    'POST /tokens/check': row(({ merchantToken: token }) => ({ body: { token } })),
    'POST /transactions/references/check': row(({ merchantId }) => ({
      body: { merchantReference: randomUUID(), merchantId },
    })),
    'POST /mobile/proximity-token': row(() => ({})),
    'GET /terminal/config': row(({ device }) => ({ headers: { 'x-device-installation-id': device } })),

    'POST /transactions/mobile': tapRow(installation),
    'POST /transactions/:transactionId/submitPinMobile': row(
      ({ pinTransactionId: transactionId, device, pin }) => ({
        params: { transactionId },
        headers: { 'x-device-installation-id': device },
        body: pin,
      }),
      { fresh: askedForPin },
    ),
    'POST /transactions/:id/acknowledge': row(
      ({ transactionId: id, device }) => ({ params: { id }, headers: { 'x-device-installation-id': device } }),
      { fresh: tapped },
    ),
    'POST /transactions/:id/refund': row((things) => ({
      ...ofTransaction(things),
      body: { amount: '0.01', refundReference: randomUUID() },
    })),
    'POST /transactions/:id/void': row(ofTransaction, { fresh: sale }),
    'GET /transactions': row(
      ({ integratorId: integrator, merchantId: merchant, transactionId: after }) => ({
        query: { integrator, merchant, after },
      }),
      { lists: 'transactionId' },
    ),
    'GET /transactions/:id': row(ofTransaction),
    'GET /transactions/:id/events': row(ofTransaction),

    'POST /consumer/qrCode': creation(),
    'POST /consumer/applink': creation(),
    'POST /consumer/tt3Applink': creation(MANDATE),
    'POST /consumer/intentTransaction': creation(),
    'POST /consumer/tt3IntentTransaction': creation(MANDATE),
    'POST /refresh/intentSessionToken': row(({ merchantId }) => ({ body: { expiryMinutes: 60, merchantId } })),
    'POST /consumer/intentSession/transactions': row(({ xTid }) => {
      const { merchantId: _own, ...body } = linkBody();
      return { body: { ...body, xTid } };
    }),
    'GET /consumer/QRCode/:reference': row(({ linkId: reference }) => ({ params: { reference } })),
    'GET /consumer/tt3QRCode/:reference': row(({ mandateId: reference }) => ({ params: { reference } })),
    'GET /consumer/taponown/:merchantReference': row(({ merchantReference }) => ({ params: { merchantReference } })),
    'GET /consumer/qrCodeDetails/:id': row(({ linkId: id }) => ({ params: { id } })),
    'POST /consumer/acknowledge': row(
      ({ linkId: qrCodeId, transactionId }) => ({ body: { qrCodeId, status: 'TransactionCreated', transactionId } }),
      { fresh: tapped },
    ),

    'GET /pay/:reference/state': row(({ linkId: reference }) => ({ params: { reference } })),
    'GET /pay/:reference/qr-code': row(({ linkId: reference }) => ({ params: { reference } })),
    'POST /dev/virtual-reader/tap': row(() => ({ body: { card: 'visa' } })),
    'POST /dev/virtual-reader/pin': row(() => ({ body: { card: 'visa', pin: '12345' } })),

    'POST /devices': row(({ merchantId }) => ({ body: { ...deviceBody(), merchantId } })),
    'GET /devices': row(({ registrationId: after }) => ({ query: { after } }), { lists: 'registrationId' }),
    'PUT /devices/:id': row(({ registrationId: id }) => ({ params: { id }, body: { friendlyName: 'Till 4' } })),
    'DELETE /devices/:id': row(({ registrationId: id }) => ({ params: { id } }), {
      // No token can remove a device that a key registered.
      fresh: async ({ installation, merchant }) => {
        const headers = { authorization: `Bearer ${await installation.phone(merchant).token()}` };
        return { registrationId: (await made(installation, '/devices', deviceBody, headers)).id };
      },
    }),
    'POST /consumer/push': row(({ registrationId: deviceId }) => ({
      body: { deviceId, amount: '10.00', currency: 'ZAR', merchantReference: randomUUID() },
    })),

    'GET /integrator/callbackUrl': row(() => ({})),
    'POST /integrator/callbackUrl': row(() => ({ body: { callbackUrl: NOWHERE } })),
    'POST /integrator/callbackUrl/secret': row(() => ({ body: { overlapHours: 0 } })),
    'GET /integrator/events': row(
      ({ transactionId: serviceReference, eventId: after }) => ({ query: { serviceReference, after } }),
      { lists: 'eventId' },
    ),
    'GET /integrator/events/:id/attempts': row(({ eventId: id }) => ({ params: { id } })),
    'POST /integrator/events/:id/replay': row(({ eventId: id }) => ({ params: { id } })),
    'POST /integrator/events/replay': row(() => ({ body: range() })),
  };
}

/** Addresses of the console's page, which has no data. */
const WORK_PAGES = ['webhooks', 'links', 'jobs', 'processors', 'routes', 'users', 'audit'].map(
  (list) => `/ops/work/${list}`,
);
const CONSOLE_PAGES = [
  '/ops',
  '/ops/transactions',
  '/ops/transactions/:id',
  '/ops/cells',
  '/ops/history',
  '/ops/account',
  '/ops/codec',
  '/ops/settings',
  '/ops/settings/:acquirer',
  '/ops/settings/:acquirer/:kind',
  '/ops/settings/:acquirer/:kind/:id',
  ...WORK_PAGES,
];

/** Requires a session of the console, which has its own matrix. */
export function isOfConsole({ url }: Pick<KnownRoute, 'url'>): boolean {
  return url.startsWith('/ops/') && !isFile(url) && !CONSOLE_PAGES.includes(url);
}

/** Parts of a page, which belong to no tenant. */
export function isFile(url: string): boolean {
  return url.split('/').at(-1)!.includes('.');
}

/** Routes without credentials, besides the parts of pages. Add new ones here. */
export const OPEN_ROUTES: ReadonlySet<string> = new Set([
  'GET /livez',
  'GET /readyz',
  'GET /healthz',
  'GET /metrics',
  'POST /login',
  'GET /.well-known/card-data-keys.json',
  'GET /.well-known/jwks.json',
  'GET /enums',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/errors',
  'GET /docs/operations/:key',
  'GET /docs/guides/:key',
  'GET /docs/schemas/:key',
  'GET /pay/:reference',
  ...CONSOLE_PAGES.map((url) => `GET ${url}`),
]);
