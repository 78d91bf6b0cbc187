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

/** One rule of a Prometheus rule file. */
interface AlertRule {
  readonly alert: string;
  readonly severity: string;
  /** What is wrong, with the placeholders of Prometheus. */
  readonly summary: string;
  /** Path of a document of this repository, with the section. */
  readonly runbook: string;
}

/** The rules of a file in which each key is on a line of its own, as ours is. */
export function alertRules(yaml: string): AlertRule[] {
  return yaml
    .split(/^ +- alert: /m)
    .slice(1)
    .map((rule) => {
      const textOf = (key: string) => new RegExp(`\\b${key}: '?(.*?)'?$`, 'm').exec(rule)?.[1] ?? '';
      return {
        alert: /^\w+/.exec(rule)![0],
        severity: /severity: (\w+)/.exec(rule)?.[1] ?? '',
        summary: textOf('summary'),
        runbook: textOf('runbook_url'),
      };
    });
}

/** A table of the alerts in the order of the file, for `deploy/runbooks.md`. */
export function alertTable(yaml: string): string {
  const rows = alertRules(yaml).map(({ alert, severity, summary, runbook }) => {
    const anchor = runbook.slice(runbook.indexOf('#'));
    return `| \`${alert}\` | ${severity} | ${withoutPlaceholders(summary)} | [${anchor.slice(1)}](${anchor}) |`;
  });
  return ['| Alert | Severity | What is wrong | Runbook |', '|---|---|---|---|', ...rows].join('\n');
}

/** `{{ $labels.processor }}` becomes _processor_, and each value N. */
function withoutPlaceholders(text: string): string {
  return text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '_$1_').replaceAll(/\{\{ \$value[^}]*\}\}/g, 'N');
}
