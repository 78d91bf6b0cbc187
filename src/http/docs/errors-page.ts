import { ENUMS } from '#schemas/enums';
import { FIRST_FOREIGN_CODE } from '#schemas/error-codes';
import { html, type Markup } from './html.ts';
import type { PageContent } from './page-layout.ts';

type Row = readonly (string | number)[];

/** `/docs/errors`: every code and value with its meaning. The `type` of each problem links to a row of this page. */
export function errorsPage(): PageContent {
  const { errorCodes, errorCodeRanges, responseCodes, statuses, dispositions, transactionTypes, qrCodeStates } = ENUMS;
  const ranges = errorCodeRanges.map(({ from, to, name, meaning }): Row => [`${from} to ${to}`, name, meaning]);
  const entries = (list: typeof statuses) => list.map(({ id, name, meaning }): Row => [id, name, meaning]);
  const main = html`<article class="text wide">
      <h1>Codes and values</h1>
      <h2 id="error-codes">Error codes</h2>
      ${table(
        ['errorCode', 'name', 'meaning'],
        errorCodes.map(({ code, name, meaning }) => [code, name, meaning]),
        '',
      )}
      <h3>Code ranges</h3>
      ${table(['errorCode', 'name', 'meaning'], [...ranges, [`${FIRST_FOREIGN_CODE} and over`, '', 'Out of scope']])}
      <h2 id="response-codes">ISO 8583 response codes</h2>
      ${table(
        ['code', 'text'],
        responseCodes.map(({ code, text }) => [code, text]),
        'response-',
      )}
      <h2 id="status">status</h2>
      ${table(['id', 'status', 'meaning'], entries(statuses), 'status-')}
      <h2 id="disposition">disposition</h2>
      ${table(['id', 'disposition', 'meaning'], entries(dispositions), 'disposition-')}
      <h2 id="type">type</h2>
      ${table(['id', 'type', 'meaning'], entries(transactionTypes), 'type-')}
      <h2 id="qr-code-state">qrCodeState</h2>
      ${table(['id', 'state', 'meaning'], entries(qrCodeStates), 'state-')}
    </article>`;
  return { title: 'Codes and values', path: '/docs/errors', main };
}

/** @param prefix start of the anchor of each row, before its first cell; without it the rows have none */
function table(head: readonly string[], rows: readonly Row[], prefix?: string): Markup {
  const body = rows.map((row) => {
    const id = prefix !== undefined && html` id="${prefix}${row[0]!}"`;
    return html`<tr${id}>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`;
  });
  const titles = head.map((title) => html`<th scope="col">${title}</th>`);
  return html`<table><thead><tr>${titles}</tr></thead><tbody>${body}</tbody></table>`;
}
