import { readSpecs } from './ask.js';
import { copyButton } from './copy.js';
import { byId, h, table } from './dom.js';
import { messageTable } from './message.js';
import { addView } from './router.js';

/**
 * `/ops/codec`: decodes, encodes and compares messages in the browser. The modules of the gateway are loaded when the view
 * opens; from then on it sends nothing, because people paste card data here. Leaving the view clears it.
 */

const MODULES = '/ops/codec';
/** Enough for a trace of a few messages, as in the command line. */
const MAX_CHARS = 2_097_152;

/** @type {Promise<any> | undefined} */
let loading;
/** @type {{ name: string }[]} */
let specs = [];

export function openCodec() {
  addView({ path: /^\/ops\/codec\/?$/, element: byId('codec'), open, close });
  onSubmit('decode-form', 'decoded', decode);
  onSubmit('encode-form', 'encoded', encode);
  onSubmit('diff-form', 'differences', compare);
}

async function open() {
  const said = byId('codec-said');
  said.textContent = 'Loading.';
  try {
    loading ??= Promise.all([
      import(`${MODULES}/codecs/iso8583/message-inspection.ts`),
      import(`${MODULES}/basics/errors/codec-errors.ts`),
      import(`${MODULES}/basics/errors/tapwire-error.ts`),
    ]).then((modules) => Object.assign({}, ...modules));
    const [, found] = await Promise.all([loading, readSpecs()]);
    specs = found;
    byId('codec-spec').replaceChildren(...specs.map(({ name }) => h('option', { value: name }, name)));
    said.textContent = '';
    for (const button of byId('codec').querySelectorAll('button[type="submit"]')) button.disabled = false;
  } catch (error) {
    loading = undefined;
    said.textContent = error.message;
  }
}

function close() {
  for (const form of byId('codec').querySelectorAll('form')) form.reset();
  for (const id of ['decoded', 'encoded', 'differences']) byId(id).replaceChildren();
}

/**
 * @param {string} formId
 * @param {string} resultId
 * @param {(codec: any) => unknown[]} work
 */
function onSubmit(formId, resultId, work) {
  byId(formId).onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const result = byId(resultId);
    result.replaceChildren();
    try {
      const codec = await loading;
      const { value: name } = byId('codec-spec');
      const spec = specs.find((each) => each.name === name);
      result.replaceChildren(...work({ ...codec, spec, options: { unmasked: byId('codec-unmasked').checked } }));
    } catch (error) {
      result.replaceChildren(h('p', { role: 'alert' }, error.message));
    }
  };
}

/**
 * @param {string} id
 * @param {any} codec
 */
function bytesOf(id, { bytesOfHex, DigitError }) {
  const { value } = byId(id);
  if (value.trim() === '' || value.length > MAX_CHARS) throw new Error('Paste a message in hex, of at most 1 MB.');
  try {
    return bytesOfHex(value);
  } catch (error) {
    if (!(error instanceof DigitError)) throw error;
    throw new Error('The message must be hex digits, two for each byte.');
  }
}

/** @param {any} codec */
function decode(codec) {
  const { readMessage, sentenceOf, spec, options } = codec;
  const { skipped, message, fields, error } = readMessage(spec, bytesOf('decode-hex', codec), options);
  const json = message && JSON.stringify({ skipped, message, fields }, null, 2);
  const before = skipped.map((/** @type {{ what: string, hex: string }} */ { what, hex }) => `the ${what} ${hex}`);
  return [
    error && h('p', { role: 'alert' }, `Decoding stopped here: ${sentenceOf(error)}.`),
    before.length > 0 && h('p', {}, `Skipped ${before.join(' and ')}.`),
    fields.length > 0 && h('div', { class: 'scroll', tabindex: 0 }, messageTable(fields, 'Message')),
    json && h('p', {}, copyButton(json, 'of the message', 'Copy JSON'), ' ', useButton(json)),
  ].filter(Boolean);
}

/** @param {string} json */
function useButton(json) {
  const onclick = () => {
    byId('encode-json').value = json;
    byId('encode-json').focus();
  };
  return h('button', { type: 'button', class: 'copy', onclick }, 'Edit and encode');
}

/** @param {any} codec */
function encode({ encodeJson, sentenceOf, Iso8583Error, spec }) {
  let hex;
  try {
    hex = encodeJson(spec, JSON.parse(byId('encode-json').value));
  } catch (error) {
    // The parser quotes what it was given, which can be card data; this text is for the person who pasted it.
    if (error instanceof SyntaxError) throw new Error('The message must be JSON.');
    if (!(error instanceof Iso8583Error)) throw error;
    const hint = error.code === 'VALUE_WITHHELD' ? ' To encode a decoded message, decode it with card data shown.' : '';
    throw new Error(`The message cannot be encoded: ${sentenceOf(error)}.${hint}`);
  }
  return [
    h('p', { class: 'mono hex' }, hex),
    h('p', {}, `${hex.length / 2} bytes `, copyButton(hex, 'of the message', 'Copy hex')),
  ];
}

/** @param {any} codec */
function compare(codec) {
  const { compareMessages, sentenceOf, Iso8583Error, spec, options } = codec;
  const [before, after] = [bytesOf('diff-before', codec), bytesOf('diff-after', codec)];
  /** @type {import('../../codecs/iso8583/message-inspection.ts').Difference[]} */
  let found;
  try {
    found = compareMessages(spec, before, after, options);
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    throw new Error(`One of the messages does not decode: ${sentenceOf(error)}.`);
  }
  if (found.length === 0) return [h('p', {}, 'The messages do not differ.')];
  const rows = found.map(({ path, name, before: one, after: other }) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row', class: 'mono' }, path),
      h('td', {}, name),
      h('td', { class: 'mono' }, one?.value ?? '(absent)'),
      h('td', { class: 'mono' }, other?.value ?? '(absent)'),
    ),
  );
  return [
    h(
      'div',
      { class: 'scroll', tabindex: 0 },
      table(['Field', 'Name', 'First', 'Second'], rows, { class: 'message', caption: 'Differences' }),
    ),
  ];
}
