import { copyButton } from './copy.js';
import { h, table } from './dom.js';

/** @typedef {import('../../codecs/iso8583/describe.ts').MessageRow} MessageRow */
/** @typedef {import('../../codecs/emv/describe-tlv.ts').TlvRow} TlvRow */

/**
 * A message field by field, masked when it was stored.
 *
 * @param {readonly MessageRow[] | null} rows
 * @param {string} name
 * @param {string | null} [hex] its masked bytes
 */
export function messageTable(rows, name, hex) {
  if (!rows) return h('p', { class: 'none' }, 'No response was received.');
  if (rows.length === 0) return h('p', { class: 'none' }, 'The message was too long to store.');
  const caption = hex ? h('span', {}, name, ' ', copyButton(hex, `of the ${name.toLowerCase()}`, 'Copy hex')) : name;
  return table(['Field', 'Name', 'Type', 'Value'], rows.map(messageRow), { class: 'message', caption });
}

/** @param {MessageRow} row */
function messageRow({ path, depth, name, type, value, withheld, details }) {
  const depthClass = `d${Math.min(depth, 4)}`;
  return h(
    'tr',
    { class: withheld ? 'withheld' : undefined },
    h('th', { scope: 'row', class: `mono ${depthClass}` }, path),
    h('td', {}, name),
    h('td', { class: 'faint' }, type),
    h('td', { class: 'mono' }, value, detailList(details)),
  );
}

/**
 * TLV as a tree, with the content of a template below it.
 *
 * @param {readonly TlvRow[]} rows
 */
export function tlvTable(rows) {
  if (rows.length === 0) return h('p', { class: 'none' }, 'No chip data is stored.');
  const caption = 'Data objects from the chip, without secrets';
  return table(['Tag', 'Name', 'Bytes', 'Value'], rows.map(tlvRow), { class: 'message', caption });
}

/** @param {TlvRow} row */
function tlvRow({ tag, depth, name, lengthBytes, value, withheld, details }) {
  return h(
    'tr',
    { class: withheld ? 'withheld' : undefined },
    h('th', { scope: 'row', class: `mono d${Math.min(depth, 4)}` }, tag),
    h('td', {}, name ?? 'unknown'),
    h('td', { class: 'n' }, lengthBytes),
    h('td', { class: 'mono' }, withheld ? '[withheld]' : (value ?? ''), detailList(details)),
  );
}

/** @param {readonly string[]} details */
function detailList(details) {
  const items = details.map((detail) => h('li', {}, detail));
  return items.length > 0 && h('ul', { class: 'details' }, items);
}
