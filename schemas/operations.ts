/**
 * Every operation of the API under its operationId, with the schemas of request, response and error. The client is made
 * from it. A contract test compares it with the API document.
 */
import { z } from 'zod';
import { ADMIN_OPERATIONS } from './admin-operations.ts';
import { cardDataKeySet } from './card-data.ts';
import { linkAcknowledged, linkAcknowledgement, qrCodeDetails, qrCodePath } from './consumer.ts';
import {
  device,
  deviceChange,
  devicePage,
  devicePath,
  newDevice,
  newPush,
  pushResponse,
  registeredDevice,
  removedDevice,
} from './device.ts';
import { enums } from './enums.ts';
import { health, liveness, readiness } from './health.ts';
import { tokenKeySet } from './key-set.ts';
import {
  intentRequest,
  intentResponse,
  linkReference,
  linkRequest,
  linkResponse,
  linkStatus,
  sessionIntentRequest,
  sessionRequest,
  sessionResponse,
  tapOnOwnPath,
  tapOnOwnStatus,
  tt3IntentRequest,
  tt3LinkRequest,
  tt3LinkStatus,
} from './link.ts';
import { login, loginResponse } from './login.ts';
import { mobileHeaders, mobilePin, mobileTransaction, pinParams, tapResponse } from './mobile-transaction.ts';
import { create, get, type Operation, post, put, remove } from './operation.ts';
import { acknowledgement, refundRequest, refundResponse, voidResponse } from './refund.ts';
import { terminalConfig } from './terminal-profile.ts';
import {
  ownAcquirer,
  proximityTokenResponse,
  referenceCheck,
  referenceVerdict,
  tokenCheck,
  tokenVerdict,
} from './tokens.ts';
import { transaction, transactionEvents, transactionId, transactionQuery } from './transaction.ts';
import {
  callback,
  callbackRegistration,
  callbackSecret,
  eventId,
  eventQuery,
  replayed,
  replayRange,
  secretRotation,
  webhookAttempt,
  webhookEvent,
} from './webhook.ts';

const empty = z.object({});

const ofTaps = {
  submitTap: post('/transactions/mobile', 'token', {
    headers: mobileHeaders,
    body: mobileTransaction,
    response: tapResponse,
  }),
  submitPin: post('/transactions/{transactionId}/submitPinMobile', 'token', {
    params: pinParams,
    headers: mobileHeaders,
    body: mobilePin,
    response: tapResponse,
  }),
  acknowledgeOutcome: post('/transactions/{id}/acknowledge', 'token', {
    params: transactionId,
    headers: mobileHeaders,
    response: acknowledgement,
  }),
  getProximityToken: post('/mobile/proximity-token', 'token', { response: proximityTokenResponse }),
  getTerminalConfig: get('/terminal/config', 'token', { response: terminalConfig }),
  getCardDataKeys: get('/.well-known/card-data-keys.json', 'nothing', { response: cardDataKeySet }),
} as const satisfies Record<string, Operation>;

const ofTransactions = {
  listTransactions: get('/transactions', 'either', { query: transactionQuery, response: z.array(transaction) }),
  getTransaction: get('/transactions/{id}', 'either', { params: transactionId, response: transaction }),
  listEventsOfTransaction: get('/transactions/{id}/events', 'either', {
    params: transactionId,
    response: transactionEvents,
  }),
  refundSale: create('/transactions/{id}/refund', 'either', {
    params: transactionId,
    body: refundRequest,
    response: refundResponse,
  }),
  voidSale: create('/transactions/{id}/void', 'either', { params: transactionId, response: voidResponse }),
  checkReference: post('/transactions/references/check', 'either', {
    body: referenceCheck,
    response: referenceVerdict,
  }),
} as const satisfies Record<string, Operation>;

const ofLinks = {
  createDeepLink: create('/consumer/qrCode', 'either', { body: linkRequest, response: linkResponse }),
  createApplink: create('/consumer/applink', 'either', { body: linkRequest, response: linkResponse }),
  createTt3Applink: create('/consumer/tt3Applink', 'either', { body: tt3LinkRequest, response: linkResponse }),
  createIntentTransaction: create('/consumer/intentTransaction', 'either', {
    body: intentRequest,
    response: intentResponse,
  }),
  createTt3IntentTransaction: create('/consumer/tt3IntentTransaction', 'either', {
    body: tt3IntentRequest,
    response: intentResponse,
  }),
  issueIntentSessionToken: create('/refresh/intentSessionToken', 'either', {
    body: sessionRequest,
    response: sessionResponse,
    under: 'auth',
  }),
  createSessionIntentTransaction: create('/consumer/intentSession/transactions', 'token', {
    body: sessionIntentRequest,
    response: intentResponse,
  }),
  getLinkStatus: get('/consumer/QRCode/{reference}', 'key', { params: linkReference, response: linkStatus }),
  getTt3LinkStatus: get('/consumer/tt3QRCode/{reference}', 'key', { params: linkReference, response: tt3LinkStatus }),
  getTapOnOwnStatus: get('/consumer/taponown/{merchantReference}', 'token', {
    params: tapOnOwnPath,
    response: tapOnOwnStatus,
  }),
  getLinkDetails: get('/consumer/qrCodeDetails/{id}', 'token', { params: qrCodePath, response: qrCodeDetails }),
  acknowledgeLink: post('/consumer/acknowledge', 'token', { body: linkAcknowledgement, response: linkAcknowledged }),
  pushPaymentToDevice: create('/consumer/push', 'either', { body: newPush, response: pushResponse }),
  registerDevice: create('/devices', 'either', { body: newDevice, response: registeredDevice }),
  listDevices: get('/devices', 'either', { query: devicePage, response: z.array(device) }),
  renameDevice: put('/devices/{id}', 'either', { params: devicePath, body: deviceChange, response: registeredDevice }),
  removeDevice: remove('/devices/{id}', 'either', { params: devicePath, response: removedDevice }),
} as const satisfies Record<string, Operation>;

const ofWebhooks = {
  registerCallbackUrl: post('/integrator/callbackUrl', 'both', {
    body: callbackRegistration,
    response: empty,
    under: 'app',
  }),
  getCallbackUrl: get('/integrator/callbackUrl', 'both', { response: callback, under: 'app' }),
  makeSecretForWebhooks: create('/integrator/callbackUrl/secret', 'both', {
    body: secretRotation,
    response: callbackSecret,
    under: 'app',
  }),
  listWebhookEvents: get('/integrator/events', 'key', {
    query: eventQuery,
    response: z.array(webhookEvent),
    under: 'app',
  }),
  listAttemptsOfWebhookEvent: get('/integrator/events/{id}/attempts', 'key', {
    params: eventId,
    response: z.array(webhookAttempt),
    under: 'app',
  }),
  replayWebhookEvent: post('/integrator/events/{id}/replay', 'key', {
    params: eventId,
    response: replayed,
    under: 'app',
  }),
  replayWebhookEvents: post('/integrator/events/replay', 'key', {
    body: replayRange,
    response: replayed,
    under: 'app',
  }),
} as const satisfies Record<string, Operation>;

const ofInstallations = {
  logIn: post('/login', 'nothing', { body: login, response: loginResponse, under: 'auth' }),
  getOwnAcquirer: get('/acquirers/me', 'either', { response: ownAcquirer }),
  checkToken: post('/tokens/check', 'key', { body: tokenCheck, response: tokenVerdict }),
  getTokenKeys: get('/.well-known/jwks.json', 'nothing', { response: tokenKeySet }),
  listEnums: get('/enums', 'nothing', { response: enums }),
  getApiDescription: get('/openapi.json', 'nothing', { response: z.record(z.string(), z.unknown()) }),
  getLiveness: get('/livez', 'nothing', { response: liveness }),
  getReadiness: get('/readyz', 'nothing', { response: readiness }),
  getHealth: get('/healthz', 'nothing', { response: health }),
} as const satisfies Record<string, Operation>;

/** The error response of every operation. */
export { problem } from './problem.ts';

export const OPERATIONS = {
  ...ofTaps,
  ...ofTransactions,
  ...ofLinks,
  ...ofWebhooks,
  ...ofInstallations,
  ...ADMIN_OPERATIONS,
} as const;
