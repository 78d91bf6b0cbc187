import { askFirst } from './acts.js';
import { operate } from './ask.js';
import { copyButton } from './copy.js';
import { byId, h, setText, table } from './dom.js';
import { newFormId } from './form-id.js';
import { go } from './router.js';
import { labelOf, schemaForm } from './schema-form.js';
import {
  addressOf,
  columnsOf,
  fill,
  formContext,
  keyOf,
  kindNamedBy,
  link,
  nounOf,
  shownValue,
} from './settings-kinds.js';

/** Forms and acts of settings: each is one operation of the admin API. */

/** @typedef {import('./settings-kinds.js').Kind} Kind */
/** @typedef {import('./settings-kinds.js').Operation} Operation */
/** @typedef {import('./settings-kinds.js').Row} Row */
/**
 * Where an operation is performed.
 *
 * @typedef {object} Act
 * @property {Kind} kind
 * @property {string | undefined} acquirer
 * @property {string} [id] of the entry
 * @property {Row} [value] present values
 * @property {HTMLElement} place of the form
 * @property {HTMLElement} result
 * @property {() => unknown} again shows the entry again
 */

const SUGGESTED = 500;

/** @param {Operation} operation @param {Act} act */
export function startAct(operation, act) {
  const { kind, acquirer, id, again } = act;
  if (operation.body) return showForm(operation, act);
  if (isReport(operation)) return showReport(operation, act);
  const isRemoval = operation === kind.remove;
  askFirst({
    title: `${operation.summary}?`,
    text: operation.description ?? '',
    yes: operation.summary.split(' ')[0],
    send: () => operate(operation.method, fill(operation.path, acquirer, id)),
    onDone: () => (isRemoval ? go(addressOf(kind, acquirer)) : again()),
  });
}

/** An operation that changes nothing, and returns rows. @param {Operation} operation */
const isReport = ({ method, response }) => method === 'POST' && response?.type === 'array';

/** @param {Operation} operation @param {Act} act @param {object} [body] */
async function showReport(operation, { acquirer, id, result }, body) {
  const { method, path, summary } = operation;
  const names = Object.keys(columnsOf(operation));
  const cellsOf = (/** @type {Row} */ row) =>
    names.map((name) => h('td', { 'data-title': labelOf(name) }, shownValue(name, row[name], acquirer)));
  result.replaceChildren(h('p', { class: 'none' }, 'Asking the gateway.'));
  const { data } = await operate(method, fill(path, acquirer, id), body && { body }).catch((error) => {
    result.replaceChildren();
    throw error;
  });
  const rows = data.map((/** @type {Row} */ row) => h('tr', {}, cellsOf(row)));
  const content =
    rows.length > 0 ? table(names.map(labelOf), rows, { class: 'list' }) : h('p', { class: 'none' }, 'None.');
  const scroll = h('div', { class: 'scroll', tabindex: 0 }, content);
  result.replaceChildren(h('section', { class: 'card' }, h('h3', {}, summary), scroll));
}

/** @param {Operation} change @param {Act} act @param {string} noun */
export function startBlocking(change, { acquirer, id, value, again }, noun) {
  const word = value?.blocked ? 'Unblock' : 'Block';
  askFirst({
    title: `${word} this ${noun}?`,
    text: value?.blocked
      ? 'It is accepted again within seconds.'
      : 'It is refused within seconds, with everything that belongs to it, until a person unblocks it.',
    yes: word,
    send: () => operate('PATCH', fill(change.path, acquirer, id), { body: { blocked: !value?.blocked } }),
    onDone: again,
  });
}

/**
 * The form of an operation. What the response has only once, such as the text of a key, is shown before anything else.
 *
 * @param {Operation} operation
 * @param {Act} act
 */
export function showForm(operation, act) {
  const { kind, acquirer, id, value, place } = act;
  const { suggest, lists } = suggestions(act);
  const { method, body: schema, summary, description, isIdempotent } = operation;
  const form = schemaForm(/** @type {object} */ (schema), value, { ...formContext(), suggest });
  const said = h('p', { role: 'alert' });
  const submit = h('button', { type: 'submit' }, operation === kind.change ? 'Save' : summary);
  // One form is one entry: what is sent again after a lost response has the same key.
  const formId = isIdempotent ? newFormId() : undefined;
  const close = () => {
    place.hidden = true;
    place.replaceChildren();
    if (operation === kind.add) go(addressOf(kind, acquirer));
  };
  const onsubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    submit.disabled = true;
    setText(said, '');
    try {
      const all = form.read();
      const body = method === 'PATCH' ? changedIn(all, value ?? {}) : all;
      if (isReport(operation)) {
        form.show([]);
        await showReport(operation, act, body);
        submit.disabled = false;
        return;
      }
      const { data } = await operate(method, fill(operation.path, acquirer, id), { body, ...(formId && { formId }) });
      showResult(operation, act, data ?? {});
    } catch (error) {
      const rest = form.show(error.errors ?? []);
      setText(said, error.errors?.length > 0 ? ['Correct the marked fields.', ...rest].join(' ') : error.message);
      submit.disabled = false;
    }
  };
  const buttons = h('menu', {}, h('button', { type: 'button', class: 'quiet', onclick: close }, 'Cancel'), submit);
  const explained = description && h('p', { class: 'faint' }, description.replaceAll('`', ''));
  const parts = [h('h3', {}, summary), explained, form.element, said, buttons, lists];
  place.replaceChildren(h('form', { class: 'schema', onsubmit, autocomplete: 'off' }, parts));
  place.hidden = false;
  /** @type {HTMLElement | null} */ (place.querySelector('input, select, textarea'))?.focus();
}

/** @param {Operation} operation @param {Act} act @param {Row} data */
function showResult(operation, { kind, acquirer, id, place, result, again }, data) {
  const stored = columnsOf(kind.show ?? kind.list);
  const once = Object.entries(data).filter(
    ([name, each]) => !(name in stored) && typeof each === 'string' && each !== '',
  );
  const isNew = operation === kind.add;
  const address = addressOf(kind, acquirer, String(data[keyOf(kind)] ?? id));
  if (once.length === 0) return isNew ? go(address) : again();
  place.hidden = true;
  place.replaceChildren();
  result.replaceChildren(
    h(
      'div',
      { class: 'card once' },
      h('p', {}, h('b', {}, 'Copy this now. It is not shown again.')),
      once.map(([name, value]) => {
        const label = labelOf(name);
        return h('p', {}, `${label}: `, h('code', { class: 'mono long' }, value), ' ', copyButton(value, label));
      }),
      isNew && link(address, `Continue to the ${nounOf(kind.show)}`),
    ),
  );
  byId('settings').scrollIntoView();
}

/** Only what differs, so that a change does not undo that of another person. @param {Row} all @param {Row} before */
function changedIn(all, before) {
  const text = JSON.stringify;
  return Object.fromEntries(Object.entries(all).filter(([name, each]) => text(each) !== text(before[name])));
}

/** Lists of the ids that fields can have, read when the form is drawn. @param {Act} act */
function suggestions({ kind, acquirer }) {
  const lists = h('div');
  const suggest = (/** @type {string} */ name) => {
    const named = kindNamedBy(name);
    if (!named?.list || named === kind || !acquirer) return undefined;
    const id = `suggested-${name}`;
    if (![...lists.children].some((each) => each.id === id)) {
      const list = h('datalist', { id });
      lists.append(list);
      void fillSuggestions(named, acquirer, list);
    }
    return id;
  };
  return { suggest, lists };
}

/** Suggestions are a help: without them, the id can be typed. @param {Kind} kind @param {string} acquirer @param {HTMLElement} list */
async function fillSuggestions(kind, acquirer, list) {
  const path = `${fill(/** @type {Operation} */ (kind.list).path, acquirer)}?limit=${SUGGESTED}`;
  const { data } = await operate('GET', path).catch(() => ({ data: [] }));
  const key = keyOf(kind);
  const options = data.map((/** @type {Row} */ row) =>
    h('option', { value: row[key] }, row.name === row[key] ? '' : row.name),
  );
  list.replaceChildren(...options);
}
