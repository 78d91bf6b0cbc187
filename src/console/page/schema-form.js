import { h, setText } from './dom.js';
import { readLocal, writeLocal } from './time.js';

/** Forms made from the JSON Schema of a request. The gateway checks what is sent, and its faults appear at their fields. */

/** @typedef {Record<string, any>} Schema JSON Schema */
/** @typedef {{ element: HTMLElement, read(): unknown }} Field `read` returns undefined for what is not sent */
/**
 * @typedef {object} Context
 * @property {Record<string, Schema>} schemas what `$ref` refers to, by name
 * @property {{ property: string, by: string, schemas: Record<string, Schema> }[]} dependent properties whose schema depends on a sibling
 * @property {(name: string) => string | undefined} suggest id of a datalist for the property
 * @property {Map<string, { input: HTMLElement, fault: HTMLElement }>} places of the fields, by path: `config/addresses/0/port`
 */
/** @typedef {{ name: string, path: string, value: any, isRequired: boolean, context: Context }} Options */

/** From here on, a text needs more than a line. */
const LONG_CHARS = 1_000;
const ACRONYMS = new Set([
  'hsm',
  'kcv',
  'id',
  'mcc',
  'tid',
  'mid',
  'url',
  'jwks',
  'pin',
  'aid',
  'tls',
  'mac',
  'icc',
  'ca',
  'stan',
  'api',
]);
let fields = 0;

/**
 * `integratorId` as people read it: `Integrator ID`.
 *
 * @param {string} name
 */
export function labelOf(name) {
  const parts = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(' ');
  const shown = parts.map((part) => (ACRONYMS.has(part) ? part.toUpperCase() : part)).join(' ');
  return shown[0].toUpperCase() + shown.slice(1);
}

/**
 * A schema without references and alternatives: of several, the first that is no null.
 *
 * @param {Schema} schema
 * @param {Pick<Context, 'schemas'>} context
 * @returns {Schema} with `isNullable`
 */
export function plainSchema(schema, context) {
  const { $ref, anyOf, ...own } = schema;
  if ($ref) return plainSchema({ ...context.schemas[$ref.split('/').pop()], ...own }, context);
  const options = (anyOf ?? []).map((/** @type {Schema} */ each) => plainSchema(each, context));
  const [first] = options.filter((/** @type {Schema} */ { type }) => type !== 'null');
  const isNullable = options.some((/** @type {Schema} */ { type }) => type === 'null');
  if (!first) return { isNullable: [own.type].flat().includes('null'), ...own, type: [own.type].flat()[0] };
  const isText = options.every((/** @type {Schema} */ { type }) => ['string', 'integer', 'null'].includes(type));
  const isOne = options.length - Number(isNullable) === 1;
  return { ...(isOne || isText ? first : { type: 'any' }), ...own, isNullable };
}

/**
 * The form of an object.
 *
 * @param {Schema} schema
 * @param {Record<string, unknown> | undefined} value
 * @param {Omit<Context, 'places'>} given
 */
export function schemaForm(schema, value, given) {
  /** @type {Context} */
  const context = { ...given, places: new Map() };
  const root = objectField(plainSchema(schema, context), { name: '', path: '', value, isRequired: true, context });
  return {
    element: root.element,
    read: () => /** @type {Record<string, unknown>} */ (root.read()),
    /**
     * Shows faults at their fields. @returns those without a field
     *
     * @param {{ pointer?: string, detail: string }[]} faults
     */
    show(faults) {
      for (const { input, fault } of context.places.values()) {
        input.removeAttribute('aria-invalid');
        setText(fault, '');
      }
      const placed = faults.map(({ pointer = '', detail }) => {
        const place = context.places.get(pointer.replace(/^\/(?:body\/)?/, ''));
        if (!place) return `${pointer.split('/').pop()} ${detail}`.trim();
        place.input.setAttribute('aria-invalid', 'true');
        setText(place.fault, `${detail[0].toUpperCase()}${detail.slice(1)}.`);
        return '';
      });
      /** @type {HTMLElement | null} */ (root.element.querySelector('[aria-invalid]'))?.focus();
      return placed.filter(Boolean);
    },
  };
}

/**
 * @param {Schema} schema
 * @param {Options} options
 * @returns {Field}
 */
function fieldOf(schema, options) {
  const { type, properties, items, isNullable } = schema;
  const plainItems = items && plainSchema(items, options.context);
  if (schema.enum) return selectField(schema.enum, schema, options);
  if (type === 'boolean') return checkField(schema, options);
  if (type === 'object' && properties)
    return isNullable || !options.isRequired ? optionalField(schema, options) : groupField(schema, options);
  if (type === 'array' && plainItems?.enum) return choicesField(plainItems.enum, schema, options);
  if (type === 'array' && plainItems?.properties) return listField(plainItems, schema, options);
  if (type === 'array' && plainItems) return linesField(plainItems, schema, options);
  if (type === 'string' || type === 'integer' || type === 'number') return textField(schema, options);
  return jsonField(schema, options);
}

/**
 * An input with its label, hint and fault.
 *
 * @param {HTMLElement & { value?: string }} input
 * @param {Schema} schema
 * @param {Options} options
 */
function labelled(input, { description }, { name, path, value, isRequired, context }) {
  const id = `field-${++fields}`;
  const fault = h('small', { class: 'fault', id: `${id}-fault` });
  const hint = description && h('small', { id: `${id}-hint` }, description.replaceAll('`', ''));
  input.id = id;
  input.setAttribute('name', path);
  input.setAttribute('aria-describedby', `${id}-fault${hint ? ` ${id}-hint` : ''}`);
  context.places.set(path, { input, fault });
  const mark = isRequired || value !== undefined ? '' : ' (optional)';
  return h('div', { class: 'field' }, h('label', { for: id }, labelOf(name), h('small', {}, mark)), input, fault, hint);
}

/** What an empty field means. @param {Schema} schema @param {Options} options */
const nothing = ({ isNullable }, { value }) =>
  isNullable ? null : typeof value === 'string' && value !== '' ? '' : undefined;

/** @param {Schema} schema @param {Options} options @returns {Field} */
function textField(schema, options) {
  const { type, format, maxLength, minimum, maximum } = schema;
  const { value, name, context } = options;
  const isNumber = type !== 'string';
  const isTime = format === 'date-time';
  const isSecret = name === 'password';
  const required = options.isRequired && !schema.isNullable && value === undefined && schema.default === undefined;
  const common = {
    required,
    maxlength: maxLength,
    autocomplete: isSecret ? 'new-password' : 'off',
    spellcheck: 'false',
  };
  const input =
    maxLength >= LONG_CHARS
      ? h('textarea', { ...common, rows: 4, class: 'mono' })
      : h('input', {
          ...common,
          ...(isNumber && { type: 'number', min: minimum, max: maximum, step: type === 'integer' ? 1 : 'any' }),
          ...(isTime && { type: 'datetime-local', step: 1 }),
          ...(isSecret && { type: 'password' }),
          list: context.suggest(name),
        });
  const given = value ?? schema.default ?? '';
  input.value = isTime && given ? writeLocal(given) : String(given);
  return {
    element: labelled(input, schema, options),
    read() {
      if (input.value === '') return nothing(schema, options);
      if (isTime) return readLocal(input.value);
      return isNumber ? Number(input.value) : input.value;
    },
  };
}

/** @param {unknown[]} values @param {Schema} schema @param {Options} options @returns {Field} */
function selectField(values, schema, options) {
  const given = options.value ?? schema.default;
  const mayBeEmpty = schema.isNullable || !options.isRequired || given === undefined;
  const texts = [...(mayBeEmpty ? [''] : []), ...values.map(String)];
  const select = h(
    'select',
    { required: options.isRequired && !schema.isNullable },
    texts.map((text) => h('option', { value: text, selected: text === String(given ?? '') }, text || '–')),
  );
  const read = () => values.find((each) => String(each) === select.value) ?? nothing(schema, options);
  return { element: labelled(select, schema, options), read };
}

/** @param {Schema} schema @param {Options} options @returns {Field} */
function checkField(schema, options) {
  const given = options.value ?? schema.default;
  const box = h('input', { type: 'checkbox', checked: given === true });
  const element = labelled(box, schema, { ...options, isRequired: true });
  element.classList.add('check');
  return { element, read: () => box.checked || (options.isRequired || given !== undefined ? false : undefined) };
}

/** @param {string[]} values @param {Schema} schema @param {Options} options @returns {Field} */
function choicesField(values, schema, options) {
  const given = new Set(options.value ?? schema.default ?? []);
  const boxes = values.map((value) => h('input', { type: 'checkbox', value, checked: given.has(value) }));
  const labels = boxes.map((box) => h('label', { class: 'check' }, box, ` ${box.value}`));
  const element = fieldset(schema, options, h('div', { class: 'choices' }, labels));
  const read = () => {
    const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value);
    return chosen.length === 0 && schema.isNullable ? null : chosen;
  };
  return { element, read };
}

/** Values of one line each. @param {Schema} items @param {Schema} schema @param {Options} options @returns {Field} */
function linesField(items, schema, options) {
  const area = h('textarea', { rows: 3, class: 'mono', spellcheck: 'false' });
  area.value = (options.value ?? schema.default ?? []).join('\n');
  const description = [schema.description, 'One on each line.'].filter(Boolean).join('. ');
  const read = () => {
    const lines = area.value
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
    if (lines.length === 0) return options.value === undefined ? undefined : (nothing(schema, options) ?? []);
    return items.type === 'string' || items.type === undefined ? lines : lines.map(Number);
  };
  return { element: labelled(area, { description }, options), read };
}

/** A value that only JSON expresses. @param {Schema} schema @param {Options} options @returns {Field} */
function jsonField(schema, options) {
  const area = h('textarea', { rows: 6, class: 'mono', spellcheck: 'false' });
  const given = options.value ?? schema.default;
  area.value = given === undefined ? '' : JSON.stringify(given, null, 2);
  const read = () => {
    if (area.value.trim() === '') return nothing(schema, options);
    try {
      return JSON.parse(area.value);
    } catch {
      throw Object.assign(new Error(`${labelOf(options.name)} is not valid JSON.`), {
        errors: [{ pointer: `/${options.path}`, detail: 'is not valid JSON' }],
      });
    }
  };
  const description = [schema.description, 'As JSON.'].filter(Boolean).join('. ');
  return { element: labelled(area, { description }, options), read };
}

/** @param {Schema} schema @param {Options} options @param {...unknown} content */
function fieldset({ description }, { name, path, context }, ...content) {
  const fault = h('small', { class: 'fault' });
  const hint = description && h('small', {}, description.replaceAll('`', ''));
  const element = h('fieldset', { tabindex: -1 }, h('legend', {}, labelOf(name)), fault, hint, content);
  context.places.set(path, { input: element, fault });
  return element;
}

/** @param {Schema} schema @param {Options} options @returns {Field} */
function groupField(schema, options) {
  const { element, read } = objectField(schema, options);
  return { element: fieldset(schema, options, element), read };
}

/** A group that is sent only if the person wants it. @param {Schema} schema @param {Options} options @returns {Field} */
function optionalField(schema, options) {
  const { element, read } = objectField(schema, options);
  const box = h('input', { type: 'checkbox', checked: options.value !== undefined && options.value !== null });
  const show = () => {
    element.hidden = !box.checked;
    // Hidden fields must not keep the form from being sent.
    element.toggleAttribute('disabled', !box.checked);
  };
  box.onchange = show;
  show();
  const use = h('label', { class: 'check' }, box, ` Set ${labelOf(options.name)}`);
  return {
    element: fieldset(schema, options, use, element),
    read: () => (box.checked ? read() : nothing(schema, options)),
  };
}

/** A list of groups. @param {Schema} items @param {Schema} schema @param {Options} options @returns {Field} */
function listField(items, schema, options) {
  const rows = h('div', { class: 'rows' });
  /** @type {{ holder: HTMLElement, read(): unknown }[]} */
  const entries = [];
  const add = (/** @type {unknown} */ value) => {
    const path = `${options.path}/${entries.length}`;
    const { element, read } = objectField(items, { ...options, path, value, isRequired: true });
    const entry = { holder: h('div', { class: 'row' }), read };
    const remove = () => {
      entry.holder.remove();
      entries.splice(entries.indexOf(entry), 1);
    };
    entry.holder.append(element, h('button', { type: 'button', class: 'act', onclick: remove }, 'Remove'));
    entries.push(entry);
    rows.append(entry.holder);
  };
  for (const value of options.value ?? schema.default ?? []) add(value);
  const more = h(
    'button',
    { type: 'button', class: 'act', onclick: () => add(undefined) },
    `Add to ${labelOf(options.name)}`,
  );
  const isUnset = () => entries.length === 0 && options.value === undefined && !options.isRequired;
  const read = () => (isUnset() ? undefined : entries.map((entry) => entry.read()));
  return { element: fieldset(schema, options, rows, more), read };
}

/** @param {Schema} schema @param {Options} options @returns {Field} */
function objectField({ properties, required = [] }, { path, value, context }) {
  const element = h('fieldset', { class: 'plain' });
  /** @type {Record<string, Field>} */
  const parts = {};
  const make = (/** @type {string} */ name, /** @type {Schema} */ schema) =>
    fieldOf(schema, {
      ...{ name, context, value: value?.[name], isRequired: required.includes(name) },
      path: path === '' ? name : `${path}/${name}`,
    });
  for (const [name, given] of Object.entries(properties)) {
    const dependent = context.dependent.find((each) => each.property === name && each.by in properties);
    const decides = context.dependent.find((each) => each.by === name && each.property in properties);
    const schema = plainSchema(given, context);
    parts[name] = make(name, decides ? { ...schema, enum: Object.keys(decides.schemas) } : schema);
    if (!dependent) {
      element.append(parts[name].element);
      continue;
    }
    const place = h('div');
    const by = /** @type {HTMLSelectElement} */ (parts[dependent.by].element.querySelector('select'));
    const redraw = () => {
      const chosen = dependent.schemas[by.value];
      parts[name] = make(name, chosen ? { ...plainSchema(chosen, context), description: schema.description } : schema);
      place.replaceChildren(...(chosen ? [parts[name].element] : []));
    };
    by.addEventListener('change', redraw);
    redraw();
    element.append(place);
  }
  const read = () => {
    const entries = Object.entries(parts).map(([name, part]) => [name, part.read()]);
    return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
  };
  return { element, read };
}
