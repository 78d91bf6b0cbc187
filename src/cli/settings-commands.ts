import type { ParseArgsOptionsConfig } from 'node:util';
import type { z } from 'zod';
import type { Database } from '../store/postgres/open-database.ts';
import type { Page } from '../store/settings/acquirer-settings.ts';
import { type Change, INSTALLATION, type Reach } from '../store/settings/admin-commit.ts';
import type { Removal, SettingsKey } from '../store/settings/settings-table.ts';
import { changeOf, checkedBy, listAll, namingOptions, onDatabase } from './administration.ts';
import { flag, idOf, onlyOne, readOptions, readWords, text, texts } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList } from './output.ts';

type Id = number | string;

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
  /** May be given several times; the value is the list. */
  readonly isRepeated?: true;
}

/** The store of one kind of settings, which the routes of the admin API use, too. */
interface SettingsStore<Stored> {
  list(reach: Reach, page: Page): Promise<Stored[]>;
  find(reach: Reach, id: Id): Promise<Stored>;
  remove(change: Change, id: Id): Promise<Removal | undefined>;
}

export interface ChangeableSettings<Settings, Stored> extends SettingsStore<Stored> {
  add(change: Change, settings: Settings): Promise<Stored>;
  change(change: Change, id: Id, settings: Partial<Settings>): Promise<Stored>;
}

/** One kind of an acquirer's settings, as its commands show it. */
export interface SettingsNoun<Settings extends object, Stored extends object, Store = SettingsStore<Stored>> {
  /** `merchant`; in capitals it is the placeholder for an id in the help. */
  readonly noun: string;
  /** Its entry in `SETTINGS` of schemas/admin-operations.ts. Without `change`, an entry cannot be changed. */
  readonly operations: {
    readonly add: { readonly body: z.ZodType<Settings> };
    readonly change?: { readonly body: z.ZodType<Partial<Settings>> };
  };
  readonly open: (database: Database) => Store;
  readonly key: Pick<SettingsKey, 'name' | 'from'>;
  readonly flags: readonly Flag[];
  /** The entry has the setting `blocked`. */
  readonly canBeBlocked?: true;
  /** The installation has entries, too, as acquirer 0. */
  readonly isOfInstallation?: true;
  readonly columns: Columns<Stored>;
  /** What a removal prints. */
  readonly removed?: (id: Id) => string;
}

/**
 * The commands `add`, `list`, `show`, `change`, `block`, `unblock` and `remove` for one kind of settings, as in the
 * admin API.
 */
export function settingsCommands<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored, ChangeableSettings<Settings, Stored>>,
): Commands {
  const one = noun.noun.toUpperCase();
  const named = withArticle(noun.noun);
  const { canBeBlocked } = noun;
  const { add: adding, change: changing } = noun.operations;
  const changeable = noun.flags.filter(({ isFixed }) => !isFixed);
  const required = requiredIn(adding.body);
  return {
    add: command(`--acquirer ID ${usageOf(noun.flags, required)} [--json]: add ${named}`, (args) => add(noun, args)),
    list: command(`--acquirer ID [--json]: list the ${noun.noun}s of the acquirer`, (args) => list(noun, args)),
    show: command(`--acquirer ID ${one}: show ${named}`, (args) => show(noun, args)),
    ...(changing && {
      change: command(`--acquirer ID ${usageOf(changeable)} ${one}: change the given settings`, (args) =>
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

/**
 * Reads a new entry and validates it as the admin API does.
 *
 * @param more options besides the flags of the noun
 * @param further settings that follow from those options
 */
export function readNew<Settings extends object, Stored extends object, More extends ParseArgsOptionsConfig>(
  noun: SettingsNoun<Settings, Stored, unknown>,
  args: string[],
  more: More,
  further: (values: Readonly<Record<string, unknown>>) => object = () => ({}),
): { change: Change; given: Settings; values: Readonly<Record<string, unknown>> } {
  const options: ParseArgsOptionsConfig = { acquirer: text, ...optionsOf(noun.flags), ...more };
  const values: Readonly<Record<string, unknown>> = readOptions(args, options);
  const change = changeOf(acquirerIn(noun, values));
  const settings = { ...settingsIn(noun.flags, { ...defaultsOf(noun.flags), ...values }), ...further(values) };
  return { change, given: checkedBy(noun.operations.add.body, settings), values };
}

export async function add<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored, Pick<ChangeableSettings<Settings, Stored>, 'add'>>,
  args: string[],
): Promise<void> {
  const { added, values } = await namingOptions(optionsIn(noun.flags), async () => {
    const { change, given, values } = readNew(noun, args, { json: flag });
    return { added: await onDatabase((database) => noun.open(database).add(change, given)), values };
  });
  console.log(values.json ? JSON.stringify(added, null, 2) : listOf([added], noun.columns));
}

export async function list<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<void> {
  const values = readOptions(args, { acquirer: text, json: flag });
  const reach = { acquirerId: acquirerIn(noun, values) };
  const rows = await onDatabase((database) => {
    const settings = noun.open(database);
    return listAll(noun.key.name as keyof Stored & string, (page) => settings.list(reach, page));
  });
  printList(rows, noun.columns, values.json);
}

export async function show<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<void> {
  const { change, id } = readNamed(noun, args);
  console.log(JSON.stringify(await onDatabase((database) => noun.open(database).find(change, id)), null, 2));
}

export async function change<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored, Pick<ChangeableSettings<Settings, Stored>, 'change'>>,
  args: string[],
): Promise<void> {
  const changeable = noun.flags.filter(({ isFixed }) => !isFixed);
  const { change, id, values } = readNamed(noun, args, optionsOf(changeable));
  return apply(noun, change, id, settingsIn(changeable, values));
}

export function setBlocked<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored, Pick<ChangeableSettings<Settings, Stored>, 'change'>>,
  args: string[],
  blocked: boolean,
): Promise<void> {
  const { change, id } = readNamed(noun, args);
  return apply(noun, change, id, { blocked });
}

async function apply<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored, Pick<ChangeableSettings<Settings, Stored>, 'change'>>,
  change: Change,
  id: Id,
  changes: object,
): Promise<void> {
  const changed = await namingOptions(optionsIn(noun.flags), () => {
    const given = checkedBy(noun.operations.change!.body, changes);
    return onDatabase((database) => noun.open(database).change(change, id, given));
  });
  console.log(listOf([changed], noun.columns));
}

export async function remove<Settings extends object, Stored extends object>(
  noun: SettingsNoun<Settings, Stored>,
  args: string[],
): Promise<void> {
  const { change, id } = readNamed(noun, args);
  await onDatabase((database) => noun.open(database).remove(change, id));
  console.log(noun.removed?.(id) ?? `The ${noun.noun} ${id} is removed.`);
}

/** Reads the acquirer, the one named entry and the other options of a command. @throws StartError BAD_CONFIG */
export function readNamed<Stored extends object>(
  noun: Pick<SettingsNoun<object, Stored, unknown>, 'noun' | 'key' | 'isOfInstallation'>,
  args: string[],
  more: ParseArgsOptionsConfig = {},
): { change: Change; id: Id; values: Readonly<Record<string, unknown>> } {
  const options: ParseArgsOptionsConfig = { acquirer: text, ...more };
  const { values, words } = readWords(args, options);
  const what = noun.noun.toUpperCase();
  const change = changeOf(acquirerIn(noun, values));
  const given = onlyOne(words, what);
  return { change, id: noun.key.from === 'count' ? idOf(given, what) : given, values };
}

function acquirerIn(
  { isOfInstallation }: { readonly isOfInstallation?: true },
  { acquirer }: { readonly acquirer?: unknown },
): number {
  if (isOfInstallation && acquirer === String(INSTALLATION)) return INSTALLATION;
  return idOf(acquirer as string | undefined, '--acquirer');
}

export function optionsIn(flags: readonly Pick<Flag, 'flag' | 'property'>[]): (property: string) => string | undefined {
  return (property) => flags.find((each) => each.property === property)?.flag;
}

function optionsOf(flags: readonly Flag[]): ParseArgsOptionsConfig {
  return Object.fromEntries(flags.map(({ flag, isRepeated }) => [flag, isRepeated ? texts : text]));
}

function defaultsOf(flags: readonly Flag[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(flags.map(({ flag, defaultValue }) => [flag, defaultValue]));
}

/** The flags that were given, by the property names of the settings. */
function settingsIn(flags: readonly Flag[], values: Readonly<Record<string, unknown>>): object {
  const given = flags.flatMap(({ flag, property, read = (each: string) => each }): [string, unknown][] => {
    const value = values[flag];
    if (value === undefined) return [];
    return [[property, typeof value === 'string' ? read(value) : value]];
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
