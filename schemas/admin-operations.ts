import { z } from 'zod';
import {
  acquirerPath,
  apiKeyPath,
  attesterPath,
  blockedDevicePath,
  integratorPath,
  issuerKeyPath,
  merchantPath,
  numberInPath,
  pageOf,
  portalUserPath,
  processorPath,
  routePath,
  terminalPath,
} from './admin.ts';
import { changePage, recordedChange } from './admin-audit.ts';
import {
  apiKeyRotation,
  createdApiKey,
  createdUser,
  madePassword,
  newApiKey,
  newIssuerKey,
  newPassword,
  newUser,
  storedApiKey,
  storedIssuerKey,
  storedUser,
  userChange,
} from './admin-credentials.ts';
import { processorSettings, routeSettings, storedProcessor, storedRoute } from './admin-routing.ts';
import {
  acquirerChange,
  integratorChange,
  merchantChange,
  newAcquirer,
  newBlockedDevice,
  newIntegrator,
  newMerchant,
  newTerminal,
  storedAcquirer,
  storedBlockedDevice,
  storedIntegrator,
  storedMerchant,
  storedTerminal,
  terminalChange,
} from './admin-tenants.ts';
import { attesterChange, newAttester, storedAttester } from './attestation.ts';
import { create, get, type Operation, patch, put, remove } from './operation.ts';
import {
  newTerminalProfile,
  profilePage,
  profilePath,
  storedTerminalProfile,
  terminalProfileChange,
} from './terminal-profile.ts';
import { callback, callbackRegistration, callbackSecret, secretRotation } from './webhook.ts';

/** For a response without a body. */
const nothing = z.unknown().transform(() => undefined);
const empty = z.object({});
const acquirer = '/acquirers/{acquirerId}';
const profiles = `${acquirer}/softposconfigs`;
const linkCallback = `${acquirer}/integrators/{id}/callbacks/links`;

/** List, add, show, change, replace and remove for one kind of an acquirer's settings. */
const listed = <Answer extends z.ZodType>(path: string, id: z.ZodType<number | string>, answer: Answer) =>
  get(`${acquirer}${path}`, 'key', { params: acquirerPath, query: pageOf(id), answer: z.array(answer) });
const added = <Body extends z.ZodType, Answer extends z.ZodType>(path: string, body: Body, answer: Answer) =>
  create(`${acquirer}${path}`, 'key', { params: acquirerPath, body, answer });
const shown = <Params extends z.ZodType, Answer extends z.ZodType>(path: string, params: Params, answer: Answer) =>
  get(`${acquirer}${path}/{id}`, 'key', { params, answer });
const changed = <Params extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType>(
  path: string,
  params: Params,
  body: Body,
  answer: Answer,
) => patch(`${acquirer}${path}/{id}`, 'key', { params, body, answer });
const replaced = <Params extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType>(
  path: string,
  params: Params,
  body: Body,
  answer: Answer,
) => put(`${acquirer}${path}/{id}`, 'key', { params, body, answer });
const removed = <Params extends z.ZodType>(path: string, params: Params) =>
  remove(`${acquirer}${path}/{id}`, 'key', { params, answer: nothing });

/** Operations on acquirers and on their settings, by operationId. */
export const ADMIN_OPERATIONS = {
  listAcquirers: get('/acquirers', 'key', { query: pageOf(numberInPath), answer: z.array(storedAcquirer) }),
  addAcquirer: create('/acquirers', 'key', { body: newAcquirer, answer: storedAcquirer }),
  showAcquirer: get(acquirer, 'key', { params: acquirerPath, answer: storedAcquirer }),
  changeAcquirer: patch(acquirer, 'key', { params: acquirerPath, body: acquirerChange, answer: storedAcquirer }),
  listChanges: get(`${acquirer}/audit`, 'key', {
    params: acquirerPath,
    query: changePage,
    answer: z.array(recordedChange),
  }),
  listChangesOfInstallation: get('/audit', 'key', { query: changePage, answer: z.array(recordedChange) }),
  listIntegrators: listed('/integrators', numberInPath, storedIntegrator),
  addIntegrator: added('/integrators', newIntegrator, storedIntegrator),
  showIntegrator: shown('/integrators', integratorPath, storedIntegrator),
  changeIntegrator: changed('/integrators', integratorPath, integratorChange, storedIntegrator),
  removeIntegrator: removed('/integrators', integratorPath),
  listMerchants: listed('/merchants', z.string(), storedMerchant),
  addMerchant: added('/merchants', newMerchant, storedMerchant),
  showMerchant: shown('/merchants', merchantPath, storedMerchant),
  changeMerchant: changed('/merchants', merchantPath, merchantChange, storedMerchant),
  removeMerchant: removed('/merchants', merchantPath),
  listTerminals: listed('/terminals', z.string(), storedTerminal),
  addTerminal: added('/terminals', newTerminal, storedTerminal),
  showTerminal: shown('/terminals', terminalPath, storedTerminal),
  changeTerminal: changed('/terminals', terminalPath, terminalChange, storedTerminal),
  removeTerminal: removed('/terminals', terminalPath),
  listBlockedDevices: listed('/blocked-devices', z.string(), storedBlockedDevice),
  addBlockedDevice: added('/blocked-devices', newBlockedDevice, storedBlockedDevice),
  showBlockedDevice: shown('/blocked-devices', blockedDevicePath, storedBlockedDevice),
  removeBlockedDevice: removed('/blocked-devices', blockedDevicePath),
  listAttesters: listed('/attesters', z.string(), storedAttester),
  addAttester: added('/attesters', newAttester, storedAttester),
  showAttester: shown('/attesters', attesterPath, storedAttester),
  changeAttester: changed('/attesters', attesterPath, attesterChange, storedAttester),
  removeAttester: removed('/attesters', attesterPath),
  listApiKeys: listed('/keys', z.string(), storedApiKey),
  makeApiKey: added('/keys', newApiKey, createdApiKey),
  showApiKey: shown('/keys', apiKeyPath, storedApiKey),
  removeApiKey: removed('/keys', apiKeyPath),
  rotateApiKey: create(`${acquirer}/keys/{id}/rotate`, 'key', {
    params: apiKeyPath,
    body: apiKeyRotation,
    answer: createdApiKey,
  }),
  listPortalUsers: listed('/users', z.string(), storedUser),
  addPortalUser: added('/users', newUser, createdUser),
  showPortalUser: shown('/users', portalUserPath, storedUser),
  changePortalUser: changed('/users', portalUserPath, userChange, storedUser),
  removePortalUser: removed('/users', portalUserPath),
  resetPasswordOfPortalUser: create(`${acquirer}/users/{id}/password`, 'key', {
    params: portalUserPath,
    body: newPassword,
    answer: madePassword,
  }),
  listIssuerKeys: listed('/issuer-keys', z.string(), storedIssuerKey),
  addIssuerKey: added('/issuer-keys', newIssuerKey, storedIssuerKey),
  showIssuerKey: shown('/issuer-keys', issuerKeyPath, storedIssuerKey),
  removeIssuerKey: removed('/issuer-keys', issuerKeyPath),
  listProcessors: listed('/processors', numberInPath, storedProcessor),
  addProcessor: added('/processors', processorSettings, storedProcessor),
  showProcessor: shown('/processors', processorPath, storedProcessor),
  changeProcessor: replaced('/processors', processorPath, processorSettings, storedProcessor),
  removeProcessor: removed('/processors', processorPath),
  listRoutes: listed('/routes', numberInPath, storedRoute),
  addRoute: added('/routes', routeSettings, storedRoute),
  showRoute: shown('/routes', routePath, storedRoute),
  changeRoute: replaced('/routes', routePath, routeSettings, storedRoute),
  removeRoute: removed('/routes', routePath),
  getCallbackUrlOfLinks: get(linkCallback, 'key', { params: integratorPath, answer: callback }),
  setCallbackUrlOfLinks: put(linkCallback, 'key', {
    params: integratorPath,
    body: callbackRegistration,
    answer: empty,
  }),
  removeCallbackUrlOfLinks: remove(linkCallback, 'key', { params: integratorPath, answer: nothing }),
  makeSecretForWebhooksOfLinks: create(`${linkCallback}/secret`, 'key', {
    params: integratorPath,
    body: secretRotation,
    answer: callbackSecret,
  }),
  createTerminalProfile: create(profiles, 'key', {
    params: acquirerPath,
    body: newTerminalProfile,
    answer: storedTerminalProfile,
  }),
  listTerminalProfiles: get(profiles, 'key', {
    params: acquirerPath,
    query: profilePage,
    answer: z.array(storedTerminalProfile),
  }),
  showTerminalProfile: get(`${profiles}/{profile}`, 'key', { params: profilePath, answer: storedTerminalProfile }),
  updateTerminalProfile: put(`${profiles}/{profile}`, 'key', {
    params: profilePath,
    body: terminalProfileChange,
    answer: storedTerminalProfile,
  }),
  deleteTerminalProfile: remove(`${profiles}/{profile}`, 'key', { params: profilePath, answer: nothing }),
} as const satisfies Record<string, Operation>;
