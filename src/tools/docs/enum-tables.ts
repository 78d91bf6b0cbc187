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

/**
 * Replaces the sections between `<!-- name -->` and `<!-- /name -->`, which are generated from the code. The rest
 * of the document is written by hand.
 *
 * @returns the document with the sections replaced
 * @throws Error for a section without a place in the document, or a place without a section: a programming error
 */
export function withSections(document: string, sections: Readonly<Record<string, string>>): string {
  const places = [...document.matchAll(/<!-- ([a-z-]+) -->\n/g)].map(([, name]) => name!);
  for (const name of Object.keys(sections)) {
    if (!places.includes(name)) throw new Error(`The document has no place for the section ${name}.`);
  }
  return places.reduce((text, name) => {
    const section = sections[name];
    if (section === undefined) throw new Error(`The section ${name} has no text.`);
    const place = new RegExp(`(?<=<!-- ${name} -->\\n)[\\s\\S]*?(?=<!-- /${name} -->)`);
    return text.replace(place, () => `\n${section}\n\n`);
  }, document);
}
