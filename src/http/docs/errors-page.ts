import { ENUMS } from '#schemas/enums';
import { FIRST_FOREIGN_CODE } from '#schemas/error-codes';

type Row = readonly (string | number)[];

/** `/docs/errors`: every code and value with its meaning. The `type` of each problem links to a row of this page. */
export function errorsPage(): string {
  const { errorCodes, errorCodeRanges, responseCodes, statuses, dispositions, transactionTypes, qrCodeStates } = ENUMS;
  const ranges = errorCodeRanges.map(({ from, to, name, meaning }): Row => [`${from} to ${to}`, name, meaning]);
  const entries = (list: typeof statuses) => list.map(({ id, name, meaning }): Row => [id, name, meaning]);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Tapwire: codes and values</title>
    <link rel="stylesheet" href="/docs/reference.css">
  </head>
  <body>
    <main class="errors">
      <p><a href="/docs">API reference</a></p>
      <h1>Codes and values</h1>
      <h2>Error codes</h2>
      ${table(
        ['errorCode', 'name', 'meaning'],
        errorCodes.map(({ code, name, meaning }) => [code, name, meaning]),
        true,
      )}
      <h3>Code ranges</h3>
      ${table(['errorCode', 'name', 'meaning'], [...ranges, [`${FIRST_FOREIGN_CODE} and over`, '', 'Out of scope']])}
      <h2>ISO 8583 response codes</h2>
      ${table(
        ['code', 'text'],
        responseCodes.map(({ code, text }) => [code, text]),
      )}
      <h2>status</h2>
      ${table(['id', 'status', 'meaning'], entries(statuses))}
      <h2>disposition</h2>
      ${table(['id', 'disposition', 'meaning'], entries(dispositions))}
      <h2>type</h2>
      ${table(['id', 'type', 'meaning'], entries(transactionTypes))}
      <h2>qrCodeState</h2>
      ${table(['id', 'state', 'meaning'], entries(qrCodeStates))}
    </main>
  </body>
</html>
`;
}

/** @param isLinked whether the first cell of a row is an anchor */
function table(head: readonly string[], rows: readonly Row[], isLinked = false): string {
  const body = rows.map((row) => {
    const cells = row.map((cell) => `<td>${escaped(String(cell))}</td>`).join('');
    return `<tr${isLinked ? ` id="${row[0]}"` : ''}>${cells}</tr>`;
  });
  const titles = head.map((title) => `<th scope="col">${title}</th>`).join('');
  return `<table><thead><tr>${titles}</tr></thead><tbody>${body.join('\n')}</tbody></table>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ENTITIES[char]!);
}
