import { operate, verifyAudit } from './ask.js';
import { byId, count, h, setText, table } from './dom.js';
import { mayBeCard } from './may-be-card.js';
import { acquirerName, whenNamesChange } from './names.js';
import { addView, go } from './router.js';
import { labelOf } from './schema-form.js';
import { showForm, startAct, startBlocking } from './settings-form.js';
import {
  ACQUIRERS,
  addressOf,
  columnsOf,
  differences,
  factsOf,
  fill,
  keyOf,
  kindNamedBy,
  link,
  nounOf,
  OF_ACQUIRER,
  ROOT,
  readKinds,
  shownValue,
} from './settings-kinds.js';
import { time } from './time.js';

/**
 * `/ops/settings`: everything that the admin API administers, with the operations that the person may use. Lists, forms
 * and acts are made from the descriptions of the operations, so a new operation needs no code here. Addresses repeat those of
 * the API: `/ops/settings/1/merchants/1001` is `/acquirers/1/merchants/1001`.
 */

/** @typedef {import('./settings-kinds.js').Kind} Kind */
/** @typedef {import('./settings-kinds.js').Operation} Operation */
/** @typedef {import('./settings-kinds.js').Row} Row */

const MAX_COLUMNS = 8;
/** Texts that are long, or the same for each entry of a list. */
const NOT_LISTED = [
  'createdAt',
  'updatedAt',
  'before',
  'after',
  'publicKey',
  'street',
  'timeZone',
  'feesConfigId',
  'fee',
];

/** @type {readonly Kind[]} */
let kinds = [];
/** A response to an earlier request is dropped. */
let asked = 0;

/** @param {string} text */
const say = (text) => setText(byId('settings-said'), text);
/** @param {...unknown} parts */
const fillContent = (...parts) =>
  byId('settings-content').replaceChildren(...parts.flat().filter((each) => each instanceof Node));

export function openSettings() {
  const path = /^\/ops\/settings(?:\/(\d+))?(?:\/([a-z][a-z-]*))?(?:\/([^/]+))?\/?$/;
  addView({ path, element: byId('settings'), open, close: () => asked++ });
  whenNamesChange(() => {
    const place = byId('settings-acquirer');
    if (place) setText(place, acquirerName(Number(place.dataset.id)));
  });
}

/** @param {string[]} match @param {URLSearchParams} query */
async function open([, acquirer, name, id], query) {
  const mine = ++asked;
  say('');
  try {
    kinds = await readKinds();
    if (mine === asked) await show(mine, { acquirer, name, id: id && decodeURIComponent(id) }, query);
  } catch (error) {
    if (mine !== asked) return;
    fillContent();
    say(error.status === 404 ? 'There is no such entry that you may see.' : error.message);
  }
}

/**
 * @param {number} mine
 * @param {{ acquirer: string | undefined, name: string | undefined, id: string | undefined }} address
 * @param {URLSearchParams} query
 */
async function show(mine, { acquirer, name, id }, query) {
  if (kinds.length === 0) return say('Your role administers nothing.');
  const acquirers = kinds.find(({ path }) => path === ACQUIRERS);
  const own = byId('settings').dataset.acquirer;
  if (!acquirer && own) return go(`${ROOT}/${own}/${name ?? 'merchants'}`, { replace: true });
  const path = `${acquirer ? OF_ACQUIRER : '/'}${name ?? 'acquirers'}`;
  const kind = acquirer && !name ? acquirers : kinds.find((each) => each.path === path);
  if (!kind) throw Object.assign(new Error('Unknown kind.'), { status: 404 });
  drawTabs(kind, acquirer);
  fillContent(h('p', { class: 'none' }, 'Reading.'));
  const entry = name ? id : acquirer;
  if (entry !== undefined) return showEntry(mine, kind, acquirer, entry);
  if (!query.has('new') || !kind.add) return showList(mine, kind, acquirer, query.get('search') ?? '');
  const [place, result] = [h('div', { class: 'card' }), h('div', { role: 'status' })];
  fillContent(result, place);
  showForm(kind.add, { kind, acquirer, place, result, again: () => {} });
}

/** @param {Kind} current @param {string | undefined} acquirer */
function drawTabs(current, acquirer) {
  const isTop = (/** @type {Kind} */ { path }) => !path.startsWith(OF_ACQUIRER);
  const tops = kinds.filter((kind) => isTop(kind) && kind.list);
  const record = kinds.filter(({ path, show: one }) => path === ACQUIRERS && one);
  const own = acquirer ? [...record, ...kinds.filter((kind) => !isTop(kind))] : tops;
  const up = acquirer && tops.length > 0 ? [link(ROOT, 'Acquirers'), ' › '] : [];
  const title = acquirer && h('span', { id: 'settings-acquirer', 'data-id': acquirer }, acquirerName(Number(acquirer)));
  byId('settings-title').replaceChildren(...up, title || 'Settings');
  byId('settings-kinds').replaceChildren(
    ...own.map((kind) => {
      const isRecord = acquirer && kind.path === ACQUIRERS;
      const href = isRecord ? `${ROOT}/${acquirer}` : addressOf(kind, acquirer);
      const isCurrent = kind === current && 'page';
      return link(href, isRecord ? 'Acquirer' : kind.title, { 'aria-current': isCurrent });
    }),
  );
  byId('settings-kinds').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}

/** @param {Operation} list */
function listedColumns(list) {
  const properties = columnsOf(list);
  const isLine = (/** @type {string} */ name) => {
    const { type, items } = properties[name];
    return type !== 'object' && !items?.$ref && !items?.properties;
  };
  const names = Object.keys(properties).filter((name) => isLine(name) && !NOT_LISTED.includes(name));
  const first = names.filter((name) => name !== 'blocked').slice(0, MAX_COLUMNS);
  return {
    names: names.filter((name) => first.includes(name) || name === 'blocked'),
    isOfChanges: 'before' in properties,
  };
}

/** @param {number} mine @param {Kind} kind @param {string | undefined} acquirer @param {string} search */
async function showList(mine, kind, acquirer, search) {
  const list = /** @type {Operation} */ (kind.list);
  const key = keyOf(kind);
  /** @type {Row[]} */
  let rows = [];
  const holder = h('div', { class: 'card scroll', tabindex: 0 });
  const total = h('p', { role: 'status', class: 'faint' });
  const read = async () => {
    const after = rows.length > 0 && { after: String(rows.at(-1)?.[key]) };
    const query = new URLSearchParams({ ...(search && { search }), ...after });
    const { data, hasNext } = await operate('GET', `${fill(list.path, acquirer)}?${query}`);
    if (mine !== asked) return;
    rows = [...rows, ...data];
    const none = search ? 'Nothing found.' : `There are no ${nounOf(list)} yet.`;
    holder.replaceChildren(rows.length > 0 ? tableOf(kind, acquirer, rows) : h('p', { class: 'none' }, none));
    more.hidden = !hasNext;
    setText(total, `${rows.length}${hasNext ? '+' : ''} shown`);
  };
  const onclick = () => read().catch(({ message }) => say(message));
  const more = h('button', { type: 'button', class: 'quiet', onclick }, 'Show more');
  await read();
  if (mine !== asked) return;
  const add = kind.add && link(`${addressOf(kind, acquirer)}?new`, kind.add.summary, { class: 'button solid' });
  const { isOfChanges } = listedColumns(list);
  const [place, result] = [h('div', { class: 'card', hidden: true }), h('div', { role: 'status' })];
  const acts = kind.ofList.map((each) => actOf(each, { kind, acquirer, place, result, again: read }));
  const head = h('div', { class: 'head' }, total, searchForm(kind, acquirer, search), acts, add);
  fillContent(head, place, result, isOfChanges ? verdictOf(acquirer) : undefined, holder, more);
}

/** Whether the shown changes are those that were written. @param {string | undefined} acquirer */
function verdictOf(acquirer) {
  const said = h('p', { role: 'status' });
  const onclick = async () => {
    setText(said, 'Verifying the chain.');
    const text = await verifyAudit(acquirer).then(
      ({ entries, isComplete, faults }) => {
        const wrong = faults.map((fault) => `Acquirer ${fault.acquirerId}, entry ${fault.number}: ${fault.kind}.`);
        const scope = isComplete
          ? `All ${count(entries)} entries were`
          : `Only the first ${count(entries)} entries were`;
        return `${scope} verified. ${wrong.join(' ') || 'No entry was changed, and none is missing.'}`;
      },
      ({ message }) => message,
    );
    setText(said, text);
  };
  return h(
    'div',
    { class: 'acts' },
    h('button', { type: 'button', class: 'quiet', onclick }, 'Verify the chain'),
    said,
  );
}

/** @param {Kind} kind @param {string | undefined} acquirer @param {readonly Row[]} rows */
function tableOf(kind, acquirer, rows) {
  const { names, isOfChanges } = listedColumns(/** @type {Operation} */ (kind.list));
  const key = kind.show && keyOf(kind);
  const cellOf = (/** @type {Row} */ row, /** @type {string} */ name) => {
    const value = row[name];
    return name === key
      ? link(addressOf(kind, acquirer, String(value)), String(value))
      : shownValue(name, value, acquirer);
  };
  const lines = rows.map((row) => {
    const cells = names.map((name) => h('td', { 'data-title': labelOf(name) }, cellOf(row, name)));
    return h(
      'tr',
      {},
      cells,
      isOfChanges && h('td', { class: 'long', 'data-title': 'Change' }, h('div', {}, differences(row))),
    );
  });
  return table([...names.map(labelOf), ...(isOfChanges ? ['Change'] : [])], lines, { class: 'list' });
}

/** @param {Kind} kind @param {string | undefined} acquirer @param {string} search */
function searchForm(kind, acquirer, search) {
  const properties = /** @type {object} */ (kind.list?.query?.properties ?? {});
  if (!('search' in properties)) return null;
  const name = `Search ${nounOf(kind.list)}`;
  const field = h('input', {
    type: 'search',
    maxlength: 100,
    autocomplete: 'off',
    'aria-label': name,
    placeholder: name,
  });
  field.value = search;
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (mayBeCard(text)) return say('This may be a card number, which must not be in an address.');
    go(`${addressOf(kind, acquirer)}${text ? `?${new URLSearchParams({ search: text })}` : ''}`);
  };
  return h(
    'form',
    { class: 'inline', role: 'search', onsubmit },
    field,
    h('button', { type: 'submit', class: 'quiet' }, 'Search'),
  );
}

/** @param {number} mine @param {Kind} kind @param {string | undefined} acquirer @param {string} id */
async function showEntry(mine, kind, acquirer, id) {
  const one = /** @type {Operation} */ (kind.show);
  const [{ data: entry }, ...parts] = await Promise.all([
    operate('GET', fill(one.path, acquirer, id)),
    ...kind.more.filter(({ method }) => method === 'GET').map((operation) => partOf(operation, acquirer, id)),
    historyOf(kind, acquirer ?? id, id),
  ]);
  if (mine !== asked) return;
  const [place, result] = [h('div', { class: 'card', hidden: true }), h('div', { role: 'status' })];
  const again = () => showEntry(mine, kind, acquirer, id).catch(({ message }) => say(message));
  const title = `${labelOf(nounOf(one))} ${entry.name ?? entry.username ?? id}`;
  const acts = actsOf(one, { kind, acquirer, id, value: entry, place, result, again });
  const head = h('div', { class: 'head' }, h('h3', {}, title), h('div', { class: 'acts' }, acts));
  fillContent(head, result, place, h('div', { class: 'card' }, factsOf(entry, acquirer)), parts);
}

/** @param {string} text @param {() => unknown} onclick */
const button = (text, onclick, isQuiet = true) =>
  h('button', { type: 'button', class: isQuiet && 'quiet', onclick }, text);
/** @param {Operation} operation @param {import('./settings-form.js').Act} act */
const actOf = (operation, act) => {
  const start = async () => startAct(operation, { ...act, value: {} });
  return button(operation.summary, () => start().catch(({ message }) => say(message)));
};
/** Routes name processors, so what can be done with all routes is also offered with a processor. @param {Kind} kind */
const kindsThatName = (kind) =>
  kinds.filter(({ list }) => Object.keys(columnsOf(list)).some((name) => kindNamedBy(name) === kind));

/** @param {Operation} one @param {import('./settings-form.js').Act & { value: Row }} act */
function actsOf(one, act) {
  const { kind, value } = act;
  const { change, remove } = kind;
  const canBlock = change?.method === 'PATCH' && 'blocked' in value;
  return [
    change && button('Change', () => startAct(change, act), false),
    canBlock && button(value.blocked ? 'Unblock' : 'Block', () => startBlocking(change, act, nounOf(one))),
    ...kind.more.filter(({ method }) => method !== 'GET').map((operation) => actOf(operation, act)),
    ...kindsThatName(kind).flatMap(({ ofList }) => ofList.map((operation) => actOf(operation, act))),
    remove && button('Remove', () => startAct(remove, act)),
  ];
}

/** A part of an entry that has an address of its own; it may be unset. @param {Operation} operation @param {string | undefined} acquirer @param {string} id */
async function partOf({ path, summary }, acquirer, id) {
  const { data } = await operate('GET', fill(path, acquirer, id)).catch(() => ({ data: undefined }));
  const content = data ? factsOf(data, acquirer) : h('p', { class: 'none' }, 'Not set.');
  return h('section', { class: 'card' }, h('h3', {}, labelOf(summary.replace(/^Get the /, ''))), content);
}

/** The admin events of an entry, where the person may read them. @param {Kind} kind @param {string} acquirer @param {string} id */
async function historyOf({ path, show: one }, acquirer, id) {
  const isOfInstallation = path !== ACQUIRERS && !path.startsWith(OF_ACQUIRER);
  const audit = kinds.find((each) => each.path === `${isOfInstallation ? '/' : OF_ACQUIRER}audit`)?.list;
  if (!audit) return undefined;
  const kind = nounOf(one)
    .toLowerCase()
    .replace(/^(?:portal|installation) /, '');
  const { data } = await operate(
    'GET',
    `${fill(audit.path, acquirer)}?${new URLSearchParams({ kind, id, limit: '20' })}`,
  );
  const lines = data.map((/** @type {Row} */ event) =>
    h(
      'tr',
      {},
      [time(event.at), event.actor, event.action].map((text) => h('td', {}, text)),
      h('td', { class: 'long' }, differences(event)),
    ),
  );
  const none = h('p', { class: 'none' }, 'No changes are recorded.');
  const list = lines.length > 0 ? table(['Time', 'Author', 'Action', 'Change'], lines) : none;
  return h('section', { class: 'card' }, h('h3', {}, 'History'), h('div', { class: 'scroll', tabindex: 0 }, list));
}
