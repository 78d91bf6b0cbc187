import { readOperations } from './ask.js';
import { h } from './dom.js';
import { labelOf, plainSchema } from './schema-form.js';
import { time } from './time.js';

/** The kinds of settings that a person may administer, from the descriptions of the operations, and how they are shown. */

/** @typedef {Record<string, any>} Row */
/** @typedef {import('../describe-operations.ts').Administration} Administration */
/** @typedef {Administration['operations'][number]} Operation */
/**
 * A kind of settings: the operations of its list and of its entries.
 *
 * @typedef {object} Kind
 * @property {string} path of the list: `/acquirers/{acquirerId}/merchants`
 * @property {string} title
 * @property {Operation} [list]
 * @property {Operation} [add]
 * @property {Operation} [show]
 * @property {Operation} [change]
 * @property {Operation} [remove]
 * @property {Operation[]} more operations below an entry
 * @property {Operation[]} ofList operations of the whole list
 */

export const ROOT = '/ops/settings';
export const ACQUIRERS = '/acquirers';
export const OF_ACQUIRER = '/acquirers/{acquirerId}/';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
/** @type {Record<string, string>} Properties whose value is the id of another entry, with the last part of its list's path. */
const REFERS_TO = {
  ...{ acquirerId: 'acquirers', integratorId: 'integrators', merchantId: 'merchants', processorId: 'processors' },
  ...{ profile: 'softposconfigs', xTid: 'terminals', routeId: 'routes' },
};
/** @type {Record<string, string>} */
const VERDICTS = { good: 'good', warning: 'warn', fault: 'bad', chosen: 'good', unavailable: 'bad' };
const NOT_COMPARED = ['createdAt', 'updatedAt', 'id'];

/** @type {Administration | undefined} */
let administration;
/** @type {readonly Kind[]} */
let kinds = [];

/** Reads the operations once: what a person may do changes with a new session. */
export async function readKinds() {
  administration ??= await readOperations();
  kinds = kinds.length > 0 ? kinds : kindsOf(administration?.operations ?? []);
  return kinds;
}

/** What forms need beside the schema of a body. */
export const formContext = () => ({
  schemas: administration?.schemas ?? {},
  dependent: [...(administration?.dependent ?? [])],
});

/** @param {string} path */
const lastOf = (path) => path.split('/').pop() ?? '';
/** @param {string} template @param {string | undefined} acquirer @param {string} [id] */
export const fill = (template, acquirer, id = '') =>
  template.replace(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(name === 'acquirerId' ? (acquirer ?? id) : id));
/** The address of a list or entry in the console. @param {Kind} kind @param {string | undefined} acquirer @param {string} [id] */
export function addressOf({ path }, acquirer, id) {
  const of = path.startsWith(OF_ACQUIRER) ? `/${acquirer}` : '';
  const list = path === ACQUIRERS && id !== undefined ? '' : `/${lastOf(path)}`;
  return `${ROOT}${of}${list}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
}
/** @param {string} href @param {unknown} text @param {object} [more] */
export const link = (href, text, more) => h('a', { href, 'data-view': true, ...more }, text);
/** `Add a merchant` -> `merchant`. @param {Operation | undefined} operation */
export const nounOf = (operation) => operation?.summary.replace(/^\w+ (?:an? |the )?/, '') ?? 'entry';

/**
 * Operations belong to the list with the longest path that theirs begins with.
 *
 * @param {readonly Operation[]} operations
 * @returns {Kind[]}
 */
function kindsOf(operations) {
  const paths = operations.flatMap(({ method, path, response }) => {
    if (/\/\{\w+\}$/.test(path)) return [path.replace(/\/\{\w+\}$/, '')];
    return method === 'GET' && response?.type === 'array' ? [path] : [];
  });
  const made = [...new Set(paths)].map((path) => /** @type {Kind} */ ({ path, title: '', more: [], ofList: [] }));
  for (const operation of operations) {
    const { method, path } = operation;
    const within = made.filter((kind) => path === kind.path || path.startsWith(`${kind.path}/`));
    const kind = within.sort((one, other) => other.path.length - one.path.length)[0];
    const below = path.slice(kind.path.length).split('/').length - 1;
    const ofEntry = { GET: 'show', DELETE: 'remove', PATCH: 'change', PUT: 'change' };
    const role =
      below === 0 ? { GET: 'list', POST: 'add' }[method] : below === 1 && ofEntry[/** @type {'GET'} */ (method)];
    if (role) Object.assign(kind, { [role]: operation });
    else if (!path.startsWith(`${kind.path}/{`)) kind.ofList.push(operation);
    else kind.more.push(operation);
  }
  for (const kind of made) kind.title = labelOf(nounOf(kind.list ?? kind.show));
  return made;
}

/** The schemas of a kind's entries by property. @param {Operation | undefined} operation */
export function columnsOf(operation) {
  const item = plainSchema(operation?.response?.items ?? operation?.response ?? {}, formContext());
  const properties = Object.entries(item.properties ?? {});
  return Object.fromEntries(properties.map(([name, schema]) => [name, plainSchema(schema, formContext())]));
}

/** The property that names an entry: the first one of its schema. @param {Kind} kind */
export const keyOf = ({ show, list }) => Object.keys(columnsOf(list ?? show))[0];

/** The kind of another entry that a property names, if the person may see it. @param {string} name */
export function kindNamedBy(name) {
  return kinds.find(({ path, show }) => show && lastOf(path) === REFERS_TO[name]);
}

/** A value as people read it. @param {string} name @param {any} value @param {string | undefined} acquirer @returns {any} */
export function shownValue(name, value, acquirer) {
  if (value === null || value === undefined || value === '') return '–';
  if (name === 'blocked')
    return h('span', { class: 'chip', 'data-state': value ? 'bad' : 'good' }, value ? 'blocked' : 'active');
  if (name === 'verdict') return h('span', { class: 'chip', 'data-state': VERDICTS[value] }, value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && TIME.test(value)) return time(value);
  const target = kindNamedBy(name);
  if (target && typeof value !== 'object') return link(addressOf(target, acquirer, String(value)), String(value));
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object'))
    return h('span', { class: 'long' }, value.join(', ') || '–');
  if (typeof value === 'object') return h('pre', { class: 'mono', tabindex: 0 }, JSON.stringify(value, null, 2));
  return h('span', { class: 'long' }, String(value));
}

/** All values of an entry. @param {Row} entry @param {string | undefined} acquirer */
export function factsOf(entry, acquirer) {
  const isBroad = (/** @type {unknown} */ value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const facts = Object.entries(entry).map(([name, value]) =>
    h(
      'div',
      { class: isBroad(value) && 'broad-fact' },
      h('dt', {}, labelOf(name)),
      h('dd', {}, shownValue(name, value, acquirer)),
    ),
  );
  return h('dl', { class: 'facts' }, facts);
}

/** What an admin event changed. @param {Row} event */
export function differences({ before, after }) {
  const all = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const text = (/** @type {unknown} */ value) =>
    value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
  const names = [...all].filter((name) => !NOT_COMPARED.includes(name));
  if (!before || !after) {
    const only = after ?? before;
    const given = names.filter((name) => only[name] !== null && only[name] !== '');
    return given.map((name) => `${labelOf(name)}: ${text(only[name])}`).join(', ');
  }
  return names
    .filter((name) => text(before[name]) !== text(after[name]))
    .map((name) => h('div', {}, `${labelOf(name)}: ${text(before[name])} → ${text(after[name])}`));
}
