import { parseArgs } from 'node:util';
import type { z } from 'zod';
import type { SettingsTable } from '../store/settings/settings-table.ts';
import { changeOf, checkedBy, listAll, onSettings } from './administration.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList } from './table.ts';
import { flag, idOf, parseNamed, text } from './words.ts';

/** One setting as a flag of a command. */
interface Flag {
  /** `time-zone` for `--time-zone`. */
  readonly flag: string;
  /** The name of the property in the settings. */
  readonly property: string;
  /** Placeholder for the value in the help. */
  readonly value: string;
  /** Converts the text to a value; without it the value is the text. */
  readonly read?: (text: string) => unknown;
  /** Default for a new entry. */
  readonly defaultValue?: string;
  /** Set at creation only. */
  readonly isFixed?: true;
}

/** One kind of an acquirer's settings, as its commands show it. */
export interface SettingsNoun<Settings extends object, Stored extends object> {
  /** `merchant`; in capitals it is the placeholder for an id in the help. */
  readonly noun: string;
  readonly table: SettingsTable<Settings, Stored>;
  readonly body: z.ZodType<Settings>;
  /** Without it, an entry cannot be changed. */
  readonly change?: z.ZodType<Partial<Settings>>;
  readonly flags: readonly Flag[];
  /** The entry has the setting `blocked`. */
  readonly canBeBlocked?: true;
  readonly columns: Columns<Stored>;
}

/**
 * The commands `add`, `list`, `show`, `change`, `block`, `unblock` and `remove` for one kind of settings, as in the
 * admin API.
 */
export function settingsCommands<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
): Commands {
  const one = noun.noun.toUpperCase();
  const named = withArticle(noun.noun);
  const { change: canChange, canBeBlocked } = noun;
  const changing = noun.flags.filter(({ isFixed }) => !isFixed);
  const required = requiredIn(noun.body);
  return {
    add: command(`--acquirer ID ${usageOf(noun.flags, required)} [--json]: add ${named}`, (args) => add(noun, args)),
    list: command(`--acquirer ID [--json]: list the ${noun.noun}s of the acquirer`, (args) => list(noun, args)),
    show: command(`--acquirer ID ${one}: show ${named}`, (args) => show(noun, args)),
    ...(canChange && {
      change: command(`--acquirer ID ${usageOf(changing)} ${one}: change the given settings`, (args) =>
        change(noun, args),
      ),
    }),
    ...(canBeBlocked && {
      block: command(`--acquirer ID ${one}: refuse taps from it`, (args) => setBlocked(noun, args, true)),
      unblock: command(`--acquirer ID ${one}: accept taps from it again`, (args) => setBlocked(noun, args, false)),
    }),
    remove: command(`--acquirer ID ${one}: remove ${named}`, (args) => remove(noun, args)),
  };
}

async function add<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: flag, ...optionsOf(noun.flags) } });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const given = checkedBy(noun.body, settingsIn(noun.flags, { ...defaultsOf(noun.flags), ...values }));
  const added = await onSettings(noun.table, (settings) => settings.add(changeOf(acquirerId), given));
  console.log(values.json ? JSON.stringify(added, null, 2) : listOf([added], noun.columns));
  return 0;
}

async function list<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: flag } });
  const reach = { acquirerId: idOf(values.acquirer, '--acquirer') };
  const rows = await onSettings(noun.table, (settings) =>
    listAll(noun.table.key.name as keyof Stored & string, (page) => settings.list(reach, page)),
  );
  printList(rows, noun.columns, values.json);
  return 0;
}

async function show<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<number> {
  const { acquirerId, id } = named(noun, args);
  console.log(JSON.stringify(await onSettings(noun.table, (settings) => settings.find({ acquirerId }, id)), null, 2));
  return 0;
}

async function change<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<number> {
  const { acquirerId, id, values } = named(noun, args, optionsOf(noun.flags.filter(({ isFixed }) => !isFixed)));
  return apply(noun, acquirerId, id, settingsIn(noun.flags, values));
}

function setBlocked<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
  blocked: boolean,
): Promise<number> {
  const { acquirerId, id } = named(noun, args);
  return apply(noun, acquirerId, id, { blocked });
}

async function apply<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  acquirerId: number,
  id: number | string,
  changes: object,
): Promise<number> {
  const given = checkedBy(noun.change!, changes);
  const changed = await onSettings(noun.table, (settings) => settings.change(changeOf(acquirerId), id, given));
  console.log(listOf([changed], noun.columns));
  return 0;
}

async function remove<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<number> {
  const { acquirerId, id } = named(noun, args);
  await onSettings(noun.table, (settings) => settings.remove(changeOf(acquirerId), id));
  console.log(`The ${noun.noun} ${id} is removed.`);
  return 0;
}

function named<Settings extends object, Stored extends object>(
  { noun, table }: SettingsNoun<Settings, Stored>,
  args: string[],
  options?: Record<string, typeof text>,
) {
  const { id, ...rest } = parseNamed(args, noun.toUpperCase(), options);
  return { ...rest, id: table.key.from === 'count' ? idOf(id, noun.toUpperCase()) : id };
}

function optionsOf(flags: readonly Flag[]): Record<string, typeof text> {
  return Object.fromEntries(flags.map(({ flag }) => [flag, text]));
}

function defaultsOf(flags: readonly Flag[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(flags.map(({ flag, defaultValue }) => [flag, defaultValue]));
}

/** The flags that were given, by the property names of the settings. */
function settingsIn(flags: readonly Flag[], values: Readonly<Record<string, unknown>>): object {
  const given = flags.flatMap(({ flag, property, read = (each: string) => each }): [string, unknown][] => {
    const value = values[flag];
    return typeof value === 'string' ? [[property, read(value)]] : [];
  });
  return Object.fromEntries(given);
}

/** Options that may be omitted are in brackets. */
function usageOf(flags: readonly Flag[], required: ReadonlySet<PropertyKey> = new Set()): string {
  const usages = flags.map(({ flag, property, value, defaultValue }) => {
    const usage = `--${flag} ${value}`;
    return required.has(property) && defaultValue === undefined ? usage : `[${usage}]`;
  });
  return usages.join(' ');
}

/** The properties that a schema reports as missing in an empty object. */
function requiredIn(schema: z.ZodType): ReadonlySet<PropertyKey> {
  const { error } = schema.safeParse({});
  return new Set(error?.issues.map(({ path }) => path[0]!));
}

function withArticle(noun: string): string {
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}
