import type { Database } from '../../src/store/postgres/open-database.ts';

/** A value that must not be found anywhere, and the name under which it is reported. */
export interface SecretMark {
  readonly name: string;
  readonly text: string;
}

/** The names of the secrets that `haystack` contains in any encoding, regardless of case. */
export function secretsIn(haystack: string, marks: readonly SecretMark[]): string[] {
  const text = haystack.toLowerCase();
  return marks.filter(({ text: mark }) => formsOf(mark).some((form) => text.includes(form))).map(({ name }) => name);
}

/** As text, as hex of the text, and as Base64 of the text or of its packed digits, at any offset in a longer value. */
function formsOf(mark: string): string[] {
  const bytes = Buffer.from(mark, 'latin1');
  const packed = /^[0-9a-f]+$/i.test(mark)
    ? [Buffer.from(mark.padEnd(mark.length + (mark.length % 2), '0'), 'hex')]
    : [];
  const encoded = [bytes, ...packed].flatMap((value) => [0, 1, 2].map((shift) => base64Core(value, shift)));
  return [mark, bytes.toString('hex'), ...encoded].map((form) => form.toLowerCase());
}

/** The characters of a Base64 text that depend on `value` alone, if it begins `shift` bytes into a group of three. */
function base64Core(value: Buffer, shift: number): string {
  const whole = Buffer.concat([Buffer.alloc(shift), value])
    .toString('base64')
    .replaceAll('=', '');
  return whole.slice(shift === 0 ? 0 : shift + 1, -1);
}

/** Every value of every column of every table, the job tables included; bytes as hex and as text. */
export async function everythingStored(database: Database): Promise<string> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.query<Record<string, unknown>>(`select * from ${name}`);
    for (const row of rows) texts.push(name, ...Object.values(row).map(textOf));
  }
  return texts.join('\n');
}

function textOf(value: unknown): string {
  if (!(value instanceof Uint8Array)) return JSON.stringify(value) ?? '';
  const bytes = Buffer.from(value);
  return `${bytes.toString('hex')}\n${bytes.toString('latin1')}`;
}
