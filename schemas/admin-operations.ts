import { z } from 'zod';
import {
  acquirerPath,
  apiKeyPath,
  attesterPath,
  blockedDevicePath,
  installationUserPath,
  integratorPath,
  issuerKeyPath,
  merchantPath,
  numberInPath,
  portalUserPath,
  processorPath,
  routePath,
  searchablePageOf,
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
import { hsmKeyPage, registeredKey } from './admin-hsm-keys.ts';
import {
  processorChange,
  processorFinding,
  processorSettings,
  routeQuestion,
  routeSettings,
  routeVerdict,
  storedProcessor,
  storedRoute,
} from './admin-routing.ts';
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
import { create, get, type Operation, patch, post, put, remove } from './operation.ts';
import {
  newTerminalProfile,
  profilePage,
  profilePath,
  storedTerminalProfile,
  terminalProfileChange,
} from './terminal-profile.ts';
import { newTransactionNote, notesPath, transactionNote } from './transaction-note.ts';
import { callback, callbackRegistration, callbackSecret, callbackTest, secretRotation } from './webhook.ts';

/** Schema of a response without a body. */
const nothing = z.unknown().transform(() => undefined);
const empty = z.object({});
const acquirer = '/acquirers/{acquirerId}';
const profiles = `${acquirer}/softposconfigs`;
const notes = `${acquirer}/transactions/{id}/notes`;
const linkCallback = `${acquirer}/integrators/{id}/callbacks/links`;

/** What the operations of one kind of settings read and return. */
interface SettingsParts<Path extends SettingsPath, Body extends z.ZodType, ResponseType extends z.ZodType> {
  /** The path of one entry. */
  readonly params: Path;
  readonly body: Body;
  /** An entry, as it is listed and shown. */
  readonly response: ResponseType;
}

type SettingsPath = typeof acquirerPath & z.ZodObject<{ id: z.ZodType<number | string> }>;

/** List, add, show and remove for one kind of settings, under `/acquirers/{acquirerId}/<name>`. */
function settingsAt<Path extends SettingsPath, Body extends z.ZodType, ResponseType extends z.ZodType>(
  name: string,
  { params, body, response }: SettingsParts<Path, Body, ResponseType>,
) {
  const all = `${acquirer}/${name}`;
  const one = `${all}/{id}`;
  return {
    list: get(all, 'key', {
      params: acquirerPath,
      query: searchablePageOf(params.shape.id as Path['shape']['id']),
      response: z.array(response),
    }),
    add: create(all, 'key', { params: acquirerPath, body, response }),
    show: get(one, 'key', { params, response }),
    remove: remove(one, 'key', { params, response: nothing }),
  };
}

/** The change of one entry, in addition: PATCH changes the given settings, PUT replaces all. */
function changeableAt<
  Path extends SettingsPath,
  Body extends z.ZodType,
  ResponseType extends z.ZodType,
  Change extends z.ZodType,
  Method extends 'PATCH' | 'PUT',
>(name: string, parts: SettingsParts<Path, Body, ResponseType>, method: Method, body: Change) {
  const { params, response } = parts;
  const path = `${acquirer}/${name}/{id}`;
  const change = { method, path, shows: 'key' as const, params, body, response };
  return { ...settingsAt(name, parts), change };
}

/**
 * The settings of an acquirer by kind, each with its operations. The routes of the admin API, the client and the commands
 * of `tapwire` are made from them.
 */
export const SETTINGS = {
  integrators: changeableAt(
    'integrators',
    { params: integratorPath, body: newIntegrator, response: storedIntegrator },
    'PATCH',
    integratorChange,
  ),
  merchants: changeableAt(
    'merchants',
    { params: merchantPath, body: newMerchant, response: storedMerchant },
    'PATCH',
    merchantChange,
  ),
  terminals: changeableAt(
    'terminals',
    { params: terminalPath, body: newTerminal, response: storedTerminal },
    'PATCH',
    terminalChange,
  ),
  blockedDevices: settingsAt('blocked-devices', {
    params: blockedDevicePath,
    body: newBlockedDevice,
    response: storedBlockedDevice,
  }),
  attesters: changeableAt(
    'attesters',
    { params: attesterPath, body: newAttester, response: storedAttester },
    'PATCH',
    attesterChange,
  ),
  apiKeys: settingsAt('keys', { params: apiKeyPath, body: newApiKey, response: storedApiKey }),
  users: changeableAt('users', { params: portalUserPath, body: newUser, response: storedUser }, 'PATCH', userChange),
  issuerKeys: settingsAt('issuer-keys', { params: issuerKeyPath, body: newIssuerKey, response: storedIssuerKey }),
  processors: changeableAt(
    'processors',
    { params: processorPath, body: processorSettings, response: storedProcessor },
    'PUT',
    processorChange,
  ),
  routes: changeableAt(
    'routes',
    { params: routePath, body: routeSettings, response: storedRoute },
    'PUT',
    routeSettings,
  ),
} as const;

const { integrators, merchants, terminals, blockedDevices, attesters, apiKeys, users, issuerKeys, processors, routes } =
  SETTINGS;

/** Operations on acquirers and on their settings, by operationId. */
export const ADMIN_OPERATIONS = {
  listAcquirers: get('/acquirers', 'key', { query: searchablePageOf(numberInPath), response: z.array(storedAcquirer) }),
  addAcquirer: create('/acquirers', 'key', { body: newAcquirer, response: storedAcquirer }),
  showAcquirer: get(acquirer, 'key', { params: acquirerPath, response: storedAcquirer }),
  changeAcquirer: patch(acquirer, 'key', { params: acquirerPath, body: acquirerChange, response: storedAcquirer }),
  listChanges: get(`${acquirer}/audit`, 'key', {
    params: acquirerPath,
    query: changePage,
    response: z.array(recordedChange),
  }),
  listHsmKeys: get(`${acquirer}/hsm-keys`, 'key', {
    params: acquirerPath,
    query: hsmKeyPage,
    response: z.array(registeredKey),
  }),
  listHsmKeysOfInstallation: get('/hsm-keys', 'key', { query: hsmKeyPage, response: z.array(registeredKey) }),
  listNotesOfTransaction: get(notes, 'key', { params: notesPath, response: z.array(transactionNote) }),
  addNoteToTransaction: create(notes, 'key', {
    params: notesPath,
    body: newTransactionNote,
    response: transactionNote,
  }),
  listChangesOfInstallation: get('/audit', 'key', { query: changePage, response: z.array(recordedChange) }),
  listIntegrators: integrators.list,
  addIntegrator: integrators.add,
  showIntegrator: integrators.show,
  changeIntegrator: integrators.change,
  removeIntegrator: integrators.remove,
  listMerchants: merchants.list,
  addMerchant: merchants.add,
  showMerchant: merchants.show,
  changeMerchant: merchants.change,
  removeMerchant: merchants.remove,
  listTerminals: terminals.list,
  addTerminal: terminals.add,
  showTerminal: terminals.show,
  changeTerminal: terminals.change,
  removeTerminal: terminals.remove,
  listBlockedDevices: blockedDevices.list,
  addBlockedDevice: blockedDevices.add,
  showBlockedDevice: blockedDevices.show,
  removeBlockedDevice: blockedDevices.remove,
  listAttesters: attesters.list,
  addAttester: attesters.add,
  showAttester: attesters.show,
  changeAttester: attesters.change,
  removeAttester: attesters.remove,
  listApiKeys: apiKeys.list,
  makeApiKey: { ...apiKeys.add, response: createdApiKey },
  showApiKey: apiKeys.show,
  removeApiKey: apiKeys.remove,
  rotateApiKey: create(`${apiKeys.show.path}/rotate`, 'key', {
    params: apiKeyPath,
    body: apiKeyRotation,
    response: createdApiKey,
  }),
  listPortalUsers: users.list,
  addPortalUser: { ...users.add, response: createdUser },
  showPortalUser: users.show,
  changePortalUser: users.change,
  removePortalUser: users.remove,
  resetPasswordOfPortalUser: create(`${users.show.path}/password`, 'key', {
    params: portalUserPath,
    body: newPassword,
    response: madePassword,
  }),
  listInstallationUsers: get('/users', 'key', { query: users.list.query, response: z.array(storedUser) }),
  addInstallationUser: create('/users', 'key', { body: newUser, response: createdUser }),
  showInstallationUser: get('/users/{id}', 'key', { params: installationUserPath, response: storedUser }),
  changeInstallationUser: patch('/users/{id}', 'key', {
    params: installationUserPath,
    body: userChange,
    response: storedUser,
  }),
  removeInstallationUser: remove('/users/{id}', 'key', { params: installationUserPath, response: nothing }),
  resetPasswordOfInstallationUser: create('/users/{id}/password', 'key', {
    params: installationUserPath,
    body: newPassword,
    response: madePassword,
  }),
  listIssuerKeys: issuerKeys.list,
  addIssuerKey: issuerKeys.add,
  showIssuerKey: issuerKeys.show,
  removeIssuerKey: issuerKeys.remove,
  listProcessors: processors.list,
  addProcessor: processors.add,
  showProcessor: processors.show,
  changeProcessor: processors.change,
  removeProcessor: processors.remove,
  checkProcessor: post(`${processors.show.path}/check`, 'key', {
    params: processorPath,
    response: z.array(processorFinding),
  }),
  listRoutes: routes.list,
  addRoute: routes.add,
  showRoute: routes.show,
  changeRoute: routes.change,
  removeRoute: routes.remove,
  checkRoutes: post(`${routes.list.path}/all/check`, 'key', {
    params: acquirerPath,
    body: routeQuestion,
    response: z.array(routeVerdict),
  }),
  getCallbackUrlOfLinks: get(linkCallback, 'key', { params: integratorPath, response: callback }),
  setCallbackUrlOfLinks: put(linkCallback, 'key', {
    params: integratorPath,
    body: callbackRegistration,
    response: empty,
  }),
  removeCallbackUrlOfLinks: remove(linkCallback, 'key', { params: integratorPath, response: nothing }),
  makeSecretForWebhooksOfLinks: create(`${linkCallback}/secret`, 'key', {
    params: integratorPath,
    body: secretRotation,
    response: callbackSecret,
  }),
  checkCallbackUrlOfLinks: post(`${linkCallback}/test`, 'key', {
    params: integratorPath,
    response: z.array(callbackTest),
  }),
  checkCallbackUrlOfTaps: post(`${acquirer}/integrators/{id}/callbacks/taps/test`, 'key', {
    params: integratorPath,
    response: z.array(callbackTest),
  }),
  createTerminalProfile: create(profiles, 'key', {
    params: acquirerPath,
    body: newTerminalProfile,
    response: storedTerminalProfile,
  }),
  listTerminalProfiles: get(profiles, 'key', {
    params: acquirerPath,
    query: profilePage,
    response: z.array(storedTerminalProfile),
  }),
  showTerminalProfile: get(`${profiles}/{profile}`, 'key', { params: profilePath, response: storedTerminalProfile }),
  updateTerminalProfile: put(`${profiles}/{profile}`, 'key', {
    params: profilePath,
    body: terminalProfileChange,
    response: storedTerminalProfile,
  }),
  deleteTerminalProfile: remove(`${profiles}/{profile}`, 'key', { params: profilePath, response: nothing }),
} as const satisfies Record<string, Operation>;
