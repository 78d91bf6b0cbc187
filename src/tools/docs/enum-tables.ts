import { ENUMS } from '#schemas/enums';
import { FIRST_FOREIGN_CODE } from '#schemas/error-codes';

type Row = readonly (string | number)[];

/** The closed lists of the interface as Markdown, by the name of their section in `schemas/README.md`. */
export function enumTables(): Record<string, string> {
  const { errorCodes, errorCodeRanges, responseCodes, statuses, dispositions, transactionTypes, qrCodeStates } = ENUMS;
  const entries = (list: typeof statuses) => list.map(({ id, name, meaning }): Row => [id, name, meaning]);
  const ranges = errorCodeRanges.map(({ from, to, name, meaning }): Row => [`${from} to ${to}`, name, meaning]);
  return {
    statuses: table(['id', 'status', 'meaning'], entries(statuses)),
    dispositions: table(['id', 'disposition', 'meaning'], entries(dispositions)),
    types: table(['id', 'type', 'meaning'], entries(transactionTypes)),
    states: table(['id', 'qrCodeState', 'meaning'], entries(qrCodeStates)),
    errors: table(
      ['errorCode', 'name', 'meaning'],
      [
        ...errorCodes.map(({ code, name, meaning }): Row => [code, name, meaning]),
        ...ranges,
        [`${FIRST_FOREIGN_CODE} and over`, '', 'Out of scope'],
      ],
    ),
    responses: table(
      ['code', 'text'],
      responseCodes.map(({ code, text }) => [code, text]),
    ),
  };
}

function table(head: readonly string[], rows: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
