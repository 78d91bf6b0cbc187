/**
 * Every operation of the API under its operationId, with the schemas of request, response and error. The client is made
 * from it. A contract test compares it with the API document.
 */
import { z } from 'zod';
import { ADMIN_OPERATIONS } from './admin-operations.ts';
import { cardDataKeySet } from './card-data.ts';
import { linkAcknowledged, linkAcknowledgement, qrCodeDetails, qrCodePath } from './consumer.ts';
import { device, deviceChange, devicePage, devicePath, newDevice, registeredDevice, removedDevice } from './device.ts';
import { enums } from './enums.ts';
import { health, liveness, readiness } from './health.ts';
import { tokenKeySet } from './key-set.ts';
import {
  intentAnswer,
  intentRequest,
  linkAnswer,
  linkReference,
  linkRequest,
  linkStatus,
  sessionAnswer,
  sessionIntentRequest,
  sessionRequest,
  tapOnOwnPath,
  tapOnOwnStatus,
  tt3IntentRequest,
  tt3LinkRequest,
  tt3LinkStatus,
} from './link.ts';
import { login, loginAnswer } from './login.ts';
import { mobileHeaders, mobileTransaction, onlineAuthorizationAnswer } from './mobile-transaction.ts';
import { create, get, type Operation, post, put, remove } from './operation.ts';
import { mobilePin, pinParams } from './pin.ts';
import { newPush, pushAnswer } from './push.ts';
import { acknowledgement, refundAnswer, refundRequest, voidAnswer } from './refund.ts';
import { terminalConfig } from './terminal-profile.ts';
import {
  ownAcquirer,
  proximityTokenAnswer,
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
    answer: onlineAuthorizationAnswer,
  }),
  submitPin: post('/transactions/{transactionId}/submitPinMobile', 'token', {
    params: pinParams,
    headers: mobileHeaders,
    body: mobilePin,
    answer: onlineAuthorizationAnswer,
  }),
  acknowledgeOutcome: post('/transactions/{id}/acknowledge', 'token', {
    params: transactionId,
    headers: mobileHeaders,
    answer: acknowledgement,
  }),
  getProximityToken: post('/mobile/proximity-token', 'token', { answer: proximityTokenAnswer }),
  getTerminalConfig: get('/terminal/config', 'token', { answer: terminalConfig }),
  getCardDataKeys: get('/.well-known/card-data-keys.json', 'nothing', { answer: cardDataKeySet }),
} as const satisfies Record<string, Operation>;

const ofTransactions = {
  listTransactions: get('/transactions', 'either', { query: transactionQuery, answer: z.array(transaction) }),
  getTransaction: get('/transactions/{id}', 'either', { params: transactionId, answer: transaction }),
  listEventsOfTransaction: get('/transactions/{id}/events', 'either', {
    params: transactionId,
    answer: transactionEvents,
  }),
  refundSale: create('/transactions/{id}/refund', 'either', {
    params: transactionId,
    body: refundRequest,
    answer: refundAnswer,
  }),
  voidSale: create('/transactions/{id}/void', 'either', { params: transactionId, answer: voidAnswer }),
  checkReference: post('/transactions/references/check', 'either', { body: referenceCheck, answer: referenceVerdict }),
} as const satisfies Record<string, Operation>;

const ofLinks = {
  createDeepLink: create('/consumer/qrCode', 'either', { body: linkRequest, answer: linkAnswer }),
  createApplink: create('/consumer/applink', 'either', { body: linkRequest, answer: linkAnswer }),
  createTt3Applink: create('/consumer/tt3Applink', 'either', { body: tt3LinkRequest, answer: linkAnswer }),
  createIntentTransaction: create('/consumer/intentTransaction', 'either', {
    body: intentRequest,
    answer: intentAnswer,
  }),
  createTt3IntentTransaction: create('/consumer/tt3IntentTransaction', 'either', {
    body: tt3IntentRequest,
    answer: intentAnswer,
  }),
  issueIntentSessionToken: create('/refresh/intentSessionToken', 'either', {
    body: sessionRequest,
    answer: sessionAnswer,
    under: 'auth',
  }),
  createSessionIntentTransaction: create('/consumer/intentSession/transactions', 'token', {
    body: sessionIntentRequest,
    answer: intentAnswer,
  }),
  getLinkStatus: get('/consumer/QRCode/{reference}', 'key', { params: linkReference, answer: linkStatus }),
  getTt3LinkStatus: get('/consumer/tt3QRCode/{reference}', 'key', { params: linkReference, answer: tt3LinkStatus }),
  getTapOnOwnStatus: get('/consumer/taponown/{merchantReference}', 'token', {
    params: tapOnOwnPath,
    answer: tapOnOwnStatus,
  }),
  getLinkDetails: get('/consumer/qrCodeDetails/{id}', 'token', { params: qrCodePath, answer: qrCodeDetails }),
  acknowledgeLink: post('/consumer/acknowledge', 'token', { body: linkAcknowledgement, answer: linkAcknowledged }),
  pushPaymentToDevice: create('/consumer/push', 'either', { body: newPush, answer: pushAnswer }),
  registerDevice: create('/devices', 'either', { body: newDevice, answer: registeredDevice }),
  listDevices: get('/devices', 'either', { query: devicePage, answer: z.array(device) }),
  renameDevice: put('/devices/{id}', 'either', { params: devicePath, body: deviceChange, answer: registeredDevice }),
  removeDevice: remove('/devices/{id}', 'either', { params: devicePath, answer: removedDevice }),
} as const satisfies Record<string, Operation>;

const ofWebhooks = {
  registerCallbackUrl: post('/integrator/callbackUrl', 'both', {
    body: callbackRegistration,
    answer: empty,
    under: 'app',
  }),
  getCallbackUrl: get('/integrator/callbackUrl', 'both', { answer: callback, under: 'app' }),
  makeSecretForWebhooks: create('/integrator/callbackUrl/secret', 'both', {
    body: secretRotation,
    answer: callbackSecret,
    under: 'app',
  }),
  listWebhookEvents: get('/integrator/events', 'key', {
    query: eventQuery,
    answer: z.array(webhookEvent),
    under: 'app',
  }),
  listAttemptsOfWebhookEvent: get('/integrator/events/{id}/attempts', 'key', {
    params: eventId,
    answer: z.array(webhookAttempt),
    under: 'app',
  }),
  replayWebhookEvent: post('/integrator/events/{id}/replay', 'key', {
    params: eventId,
    answer: replayed,
    under: 'app',
  }),
  replayWebhookEvents: post('/integrator/events/replay', 'key', { body: replayRange, answer: replayed, under: 'app' }),
} as const satisfies Record<string, Operation>;

const ofInstallations = {
  logIn: post('/login', 'nothing', { body: login, answer: loginAnswer, under: 'auth' }),
  getOwnAcquirer: get('/acquirers/me', 'either', { answer: ownAcquirer }),
  checkToken: post('/tokens/check', 'key', { body: tokenCheck, answer: tokenVerdict }),
  getTokenKeys: get('/.well-known/jwks.json', 'nothing', { answer: tokenKeySet }),
  listEnums: get('/enums', 'nothing', { answer: enums }),
  getApiDescription: get('/openapi.json', 'nothing', { answer: z.record(z.string(), z.unknown()) }),
  getLiveness: get('/livez', 'nothing', { answer: liveness }),
  getReadiness: get('/readyz', 'nothing', { answer: readiness }),
  getHealth: get('/healthz', 'nothing', { answer: health }),
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
