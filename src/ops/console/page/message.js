import { h } from './dom.js';

/** A message field by field, masked when it was stored. */
export function messageTable(rows, caption) {
  if (!rows) return h('p', { class: 'none' }, 'No response was received.');
  if (rows.length === 0) return h('p', { class: 'none' }, 'The message was too long to store.');
  return h(
    'table',
    { class: 'message' },
    h('caption', {}, caption),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ['Field', 'Name', 'Type', 'Value'].map((title) => h('th', { scope: 'col' }, title)),
      ),
    ),
    h('tbody', {}, rows.map(messageRow)),
  );
}

function messageRow({ path, depth, name, type, value, withheld, details }) {
  const depthClass = `d${Math.min(depth, 4)}`;
  return h(
    'tr',
    { class: withheld ? 'withheld' : undefined },
    h('th', { scope: 'row', class: `mono ${depthClass}` }, path),
    h('td', {}, name),
    h('td', { class: 'faint' }, type),
    h(
      'td',
      { class: 'mono' },
      value,
      details.length > 0 &&
        h(
          'ul',
          { class: 'details' },
          details.map((detail) => h('li', {}, detail)),
        ),
    ),
  );
}

/** TLV as a tree, with the content of a template below it. */
export function tlvTable(rows) {
  if (rows.length === 0) return h('p', { class: 'none' }, 'No chip data is stored.');
  return h(
    'table',
    { class: 'message' },
    h('caption', {}, 'Data objects from the chip, without secrets'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ['Tag', 'Name', 'Bytes', 'Value'].map((title) => h('th', { scope: 'col' }, title)),
      ),
    ),
    h(
      'tbody',
      {},
      rows.map(({ tag, depth, name, lengthBytes, value, withheld, details }) =>
        h(
          'tr',
          { class: withheld ? 'withheld' : undefined },
          h('th', { scope: 'row', class: `mono d${Math.min(depth, 4)}` }, tag),
          h('td', {}, name ?? 'unknown'),
          h('td', { class: 'n' }, lengthBytes),
          h(
            'td',
            { class: 'mono' },
            withheld ? '[withheld]' : (value ?? ''),
            details.length > 0 &&
              h(
                'ul',
                { class: 'details' },
                details.map((detail) => h('li', {}, detail)),
              ),
          ),
        ),
      ),
    ),
  );
}
