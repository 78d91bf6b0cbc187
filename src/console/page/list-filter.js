import { suggestMerchants } from './ask.js';
import { byId, h, setText } from './dom.js';
import { processorName, whenNamesChange } from './names.js';
import { readLocal, writeLocal } from './time.js';

/** The filter of the list: in the address, in the form, and as the gateway reads it. */

const MINUTE_MS = 60_000;
/** @type {Record<string, number>} */
const PERIODS = { '15m': 15, '1h': 60, '24h': 1_440, '7d': 10_080, '30d': 43_200 };
const TEXTS = ['type', 'outcome', 'attention', 'merchant', 'terminal', 'scheme', 'min', 'max'];
const PARAMETERS = ['q', ...TEXTS, 'acquirer', 'processor', 'period', 'from', 'to'];
const SUGGESTED_FROM_CHARS = 2;
/** On a phone, the open filters are higher than the screen. The style sheet has the same width. */
const NARROW = matchMedia('(max-width: 760px)');

/**
 * Only known parameters, so that a shared address means the same tomorrow.
 *
 * @param {URLSearchParams} query
 * @returns {Record<string, string>}
 */
export function readAddress(query) {
  const given = PARAMETERS.map((name) => [name, query.get(name) ?? '']);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

/** @param {Record<string, string | undefined>} values */
export function addressOf(values) {
  const query = new URLSearchParams();
  for (const name of PARAMETERS) if (values[name]) query.set(name, values[name]);
  return `/ops/transactions${query.size > 0 ? `?${query}` : ''}`;
}

/**
 * The filter in a request.
 *
 * @param {Record<string, string>} values
 */
export function filterOf({ period, from, to, acquirer, processor, q, ...values }) {
  const filter = Object.fromEntries(TEXTS.flatMap((name) => (values[name] ? [[name, values[name]]] : [])));
  const [ofAcquirer, id] = (processor ?? '').split('.').map(Number);
  const since = PERIODS[period] && new Date(Date.now() - PERIODS[period] * MINUTE_MS).toISOString();
  return {
    ...filter,
    ...(q && { q }),
    ...(acquirer && { acquirer: Number(acquirer) }),
    ...(processor && { processor: { acquirer: ofAcquirer, id } }),
    ...((since ?? from) && { from: since ?? from }),
    ...(!since && to && { to }),
  };
}

/** @param {string} name */
const field = (name) => byId('filters').elements[name];

/**
 * Shows the values of the address in the form.
 *
 * @param {Record<string, string>} values
 */
export function fillForm(values) {
  for (const name of TEXTS) field(name).value = values[name] ?? '';
  choose(field('acquirer'), values.acquirer);
  choose(field('processor'), values.processor);
  field('period').value = values.from || values.to ? 'custom' : (values.period ?? '');
  field('from').value = values.from ? writeLocal(values.from) : '';
  field('to').value = values.to ? writeLocal(values.to) : '';
  const chosen = Object.keys(values).filter((name) => name !== 'q').length;
  setText(byId('filters-title'), chosen === 0 ? 'Filters' : `Filters (${chosen})`);
  showRange();
}

/**
 * A choice from a shared address may be unknown here, or its name may not be read yet.
 *
 * @param {HTMLSelectElement} select
 * @param {string} [value]
 */
function choose(select, value = '') {
  if (![...select.options].some((option) => option.value === value)) select.append(h('option', { value }, value));
  select.value = value;
}

export function readForm() {
  const values = Object.fromEntries(
    [...TEXTS, 'acquirer', 'processor'].map((name) => [name, field(name).value.trim()]),
  );
  if (field('period').value !== 'custom') return { ...values, period: field('period').value };
  return { ...values, from: readLocal(field('from').value) ?? '', to: readLocal(field('to').value) ?? '' };
}

function showRange() {
  const isCustom = field('period').value === 'custom';
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.range')))
    element.hidden = !isCustom;
}

/** @param {() => void} onChange */
export function openFilters(onChange) {
  const fold = () => {
    byId('filters-fold').open = !NARROW.matches;
  };
  NARROW.addEventListener('change', fold);
  fold();
  byId('filters').onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    onChange();
  };
  byId('filters').onchange = (/** @type {{ target: HTMLInputElement }} */ { target }) => {
    if (target.name === 'period') showRange();
    const isUnfinished = target.name === 'period' && target.value === 'custom';
    if (!isUnfinished) onChange();
  };
  field('merchant').oninput = (/** @type {{ target: HTMLInputElement }} */ { target }) =>
    void suggest(target.value.trim());
  whenNamesChange(({ acquirers, processors }) => {
    fillChoices(
      field('acquirer'),
      acquirers.map(({ id, name }) => [String(id), `${name} (${id})`]),
    );
    fillChoices(
      field('processor'),
      processors.map(({ acquirerId, id, isRemoved }) => [
        `${acquirerId}.${id}`,
        `${processorName(acquirerId, id)}${isRemoved ? ', removed' : ''}`,
      ]),
    );
    field('acquirer').closest('label').hidden = acquirers.length < 2;
  });
}

/**
 * @param {HTMLSelectElement} select
 * @param {[id: string, name: string][]} choices
 */
function fillChoices(select, choices) {
  const { value } = select;
  select.replaceChildren(
    h('option', { value: '' }, 'Any'),
    ...choices.map(([id, name]) => h('option', { value: id }, name)),
  );
  choose(select, value);
}

/**
 * Suggestions are a help: without them, the id can be typed.
 *
 * @param {string} text
 */
async function suggest(text) {
  if (text.length < SUGGESTED_FROM_CHARS) return;
  const found = await suggestMerchants(text).catch(() => []);
  byId('merchants').replaceChildren(
    ...found.map((/** @type {{ id: string, name: string }} */ { id, name }) =>
      h('option', { value: id }, `${name} (${id})`),
    ),
  );
}
