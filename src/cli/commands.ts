import { readFileSync } from 'node:fs';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { StartError } from '../basics/errors.ts';
import { faultOfArguments } from './command-end.ts';
import { bad } from './output.ts';

/**
 * Examples in the help of commands whose arguments need one, by command. Values are those of the demo or of
 * `src/cli/README.md`.
 */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  demo: ['tapwire demo', 'tapwire demo --stay --behaviour faulty --seed 7'],
  tap: [
    'tapwire tap --amount 10.00',
    'tapwire tap --amount 10.51 --card mastercard        declined',
    'tapwire tap --amount 50.05 --pin 12345              the switch requests a PIN',
  ],
  link: ['tapwire link --amount 10.00', 'tapwire link --amount 1250 --currency JPY --reference order-17'],
  trigger: ['tapwire trigger approved', 'tapwire trigger declined --code 54', 'tapwire trigger timeout'],
  'webhooks listen': [
    'tapwire webhooks listen --forward-to http://127.0.0.1:3000/webhooks',
    'tapwire webhooks listen --forward-to http://127.0.0.1:3000/webhooks --all',
  ],
  init: ['tapwire init', 'tapwire init --answers answers.yaml --out /etc/tapwire/tapwire.env'],
  start: ['tapwire start', 'tapwire start --role api --processes 2'],
  jobs: ['tapwire jobs', 'tapwire jobs dead-letters list --json', 'tapwire jobs dead-letters redrive --queue webhook'],
  size: ['tapwire size --taps 100/s --merchants 10000', 'tapwire size --taps 2000000/d --peak 6 --json'],
  'log-level': ['tapwire log-level debug', 'tapwire log-level warn --minutes 60'],
  'transaction show': [
    'tapwire transaction show order-17',
    'tapwire transaction show --acquirer 1 --json 7c0d3c4e-8f1a-4c55-9c0e-0d7a4a3c7a11',
  ],
  'processor new': ['tapwire processor new acme', 'tapwire processor new acme --spec packager.xml'],
  'processor show': ['tapwire processor show --acquirer 1 1'],
  'archive list': ['tapwire archive list'],
  'archive write': ['tapwire archive write 2026-01 --to /srv/archive'],
  'archive restore': ['tapwire archive restore 2026-01 --from /srv/archive'],
  restored: [
    'tapwire restored --lost-from 2026-11-20T10:00:00Z --lost-until 2026-11-20T11:30:00Z',
    'tapwire restored --json',
    'tapwire restored --release --acquirer 1 --merchant 1001',
    'tapwire restored --release --all',
  ],
  audit: [
    'tapwire audit --acquirer 1',
    'tapwire audit verify --json > heads.json',
    'tapwire audit verify --heads heads.json',
  ],
  'hsm import': [
    'tapwire hsm import --key acquirer/1/pin-2 --usage pin --under acquirer/1/kbpk --kcv 08D7B4 block.txt',
    'tapwire hsm import --key acquirer/1/zmk --usage keyEncryption --under-lmk --kcv 08D7B4 zmk.txt',
    'tapwire hsm import --key acquirer/1/zmk --usage keyEncryption --components --kcv 08D7B4',
  ],
  'hsm rotate': ['tapwire hsm rotate --successor acquirer/1/mac-2 --overlap 14d acquirer/1/mac-1'],
  'hsm retire': ['tapwire hsm retire acquirer/1/mac-1'],
  'cell add': [
    'tapwire cell add --name a --url https://a.internal --database env:CELL_A_DATABASE_URL',
    'tapwire cell add --name b --url https://b.internal --database file:/run/secrets/b --backend cell-b',
  ],
  'cell move': ['tapwire cell move --acquirer 7 --to b', 'tapwire cell move --acquirer 7 --to b --undo'],
  'cell recover': ['tapwire cell recover --acquirer 7 --in a --lost b'],
  'acquirer add': ["tapwire acquirer add --name 'First Bank'"],
  'merchant add': [
    `tapwire merchant add --acquirer 1 --integrator 1 --id 1001 --name 'Corner Coffee' --mcc 5814 \\
      --street '1 Long Street' --city 'Cape Town' --country ZA --currency ZAR --time-zone Africa/Johannesburg`,
  ],
  'merchant change': ["tapwire merchant change --acquirer 1 --name 'Corner Coffee and Cake' 1001"],
  'terminal add': [
    'tapwire terminal add --acquirer 1 --x-tid TERM0001 --tid TW000001 --mid SHOP00000000001 --takes-pin no',
  ],
  'user add': [
    'tapwire user add --acquirer 1 --merchant 1001 --username till@corner.example --role operator',
    'tapwire user add --acquirer 0 --username ops@bank.example --role operator',
  ],
  'api-key add': [
    'tapwire api-key add --acquirer 1 --integrator 1 --name back-office --scope transactions:read',
    'tapwire api-key add --acquirer 1 --name admin --scope tenants:manage --scope credentials:manage',
    'tapwire api-key add --operator',
  ],
  'issuer-key add': [
    `tapwire issuer-key add --acquirer 1 --integrator 1 --issuer https://shop.example --kid shop-1 \\
      --public-key issuer-public.pem --proof proof.txt`,
  ],
  'issuer-key prove': [
    'tapwire issuer-key prove --acquirer 1 --issuer https://shop.example --private-key issuer.pem > proof.txt',
  ],
  'callback set': ['tapwire callback set --acquirer 1 --integrator 1 --serves links https://shop.example/webhooks'],
  'processor example': ['tapwire processor example type-1 > switch.json'],
  'processor add': ['tapwire processor add --acquirer 1 --type type-1 --config switch.json'],
  'route add': ['tapwire route add --acquirer 1 --processor 1'],
  simulate: [
    'tapwire simulate type-1=9101 type-2=9201',
    'tapwire simulate type-1=9101 --latency lognormal:8ms,p99=40ms --drop 0.1% --decline 3% --seed 7',
  ],
  profile: [
    `tapwire profile --out shop.json --merchant 1001 --terminal TERM0001 --user till-1 \\
      --issuer https://shop.example --kid shop-1 --private-key issuer.pem --api-key-file api.key`,
  ],
  load: [
    'tapwire load --rate 500 --duration 2m --report .tapwire/load.html',
    "tapwire load --arrivals steps:by=250,every=10s --fail-if 'p99>50ms,errors>0.1%'",
    'tapwire load compare before.json after.json --tolerance 5%',
    'tapwire load clean',
  ],
  'verify-ledger': [
    'tapwire verify-ledger --ledger http://127.0.0.1:9000/ledger',
    'tapwire verify-ledger --ledger http://127.0.0.1:9000/ledger --since 2026-11-20T10:00:00Z --json',
  ],
  decode: ['tapwire decode --spec type-1 message.hex', 'tapwire decode --spec type-1 - < message.bin'],
  encode: ['tapwire encode --spec type-1 message.json'],
  diff: ['tapwire diff --spec type-1 request.hex response.hex'],
  'spec import': [
    'tapwire spec import packager.xml --out spec.json',
    'tapwire spec import packager.xml --format typescript --out processors/acme/spec.ts',
  ],
  'spec export': ['tapwire spec export type-1993 --as jpos'],
  'spec diff': ['tapwire spec diff packager.xml type-1'],
  tlv: ['tapwire tlv 9F0206000000001000'],
};

/** Runs a command with the arguments after its name. The result is the exit code of the process; 0 without one. */
export type Command = (args: string[]) => Promise<number> | Promise<void>;

/** The file of a command: what it does and how to use it, or the commands of a group such as `tapwire processor`. */
type CommandFile =
  | { readonly run: Command; readonly USAGE?: string | undefined; readonly commands?: undefined }
  | { readonly commands: Commands };

interface CommandEntry {
  /** One line of the list: what it does, or its arguments. */
  readonly description: string;
  readonly load: () => Promise<CommandFile>;
}

/** Commands by name. */
export type Commands = Readonly<Record<string, CommandEntry>>;

/** Commands under the headings of the list. */
export type Sections = Readonly<Record<string, Commands>>;

/** A command that needs no file of its own. @param usage what `--help` prints, if not the description */
export function command(description: string, run: Command, usage?: string): CommandEntry {
  return { description, load: async () => ({ run, USAGE: usage }) };
}

/** A command whose file is loaded when it runs. */
export function inFile(description: string, load: CommandEntry['load']): CommandEntry {
  return { description, load };
}

const HELP = new Set(['-h', '--help']);
const VERSION = new Set(['-V', '--version']);
/** More changes than these make another word. */
const MAX_TYPOS = 2;

/**
 * Runs the command that the arguments name. Help and the version are printed before anything runs, because a command
 * may change the database: `--help` anywhere, `help COMMAND`, or no command.
 */
export async function runTapwire(sections: Sections, args: string[]): Promise<number> {
  if (args[0] === '--env-file') {
    readEnvironment(args[1]);
    return runTapwire(sections, args.slice(2));
  }
  const given = optionsOf(args);
  if (given.some((arg) => VERSION.has(arg))) return printed(versionOfPackage());
  const wanted = args[0] === 'help' ? [...args.filter((arg) => arg !== 'help'), '--help'] : args;
  return runCommand('tapwire', sections, wanted);
}

/** Variables of the environment take precedence over those of the file. @throws StartError BAD_CONFIG */
function readEnvironment(path: string | undefined): void {
  if (path === undefined) throw new StartError('BAD_USAGE', '--env-file: expected a file, such as tapwire.env');
  try {
    process.loadEnvFile(path);
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `--env-file ${path}: ${describeSystemError(cause)}`, { cause });
  }
}

/** @param program what precedes the arguments: `tapwire`, `tapwire processor` */
export async function runCommand(program: string, sections: Sections, [name, ...args]: string[]): Promise<number> {
  const commands: Commands = Object.assign({}, ...Object.values(sections));
  if (name === undefined || HELP.has(name)) return printed(listOf(program, sections));
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) {
    const meant = nearest(name, Object.keys(commands));
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    const fault = `${program}: there is no command ${name}.${hint}\nRun ${program} --help to list the commands.`;
    console.error(bad(fault, process.stderr));
    return 2;
  }
  const file = await entry.load();
  const path = `${program} ${name}`;
  if (file.commands) return runCommand(path, { Commands: file.commands }, args);
  if (optionsOf(args).some((arg) => HELP.has(arg))) return printed(usageOf(path, entry, file));
  if (file.run.length === 0 && args.length > 0)
    throw new StartError('BAD_USAGE', `${path}: takes no arguments.\nRun ${path} --help for what it does.`);
  try {
    return (await file.run(args)) ?? 0;
  } catch (cause) {
    const fault = faultOfArguments(cause);
    if (fault === undefined) throw cause;
    throw new StartError('BAD_USAGE', `${path}: ${fault}\nRun ${path} --help for its arguments.`, { cause });
  }
}

/** One command with what precedes its arguments, and its help. */
export interface DescribedCommand {
  /** `processor add` */
  readonly path: string;
  readonly usage: string;
}

/** Every command, those of groups included. */
export async function allCommands(sections: Sections, prefix = ''): Promise<DescribedCommand[]> {
  const found: DescribedCommand[] = [];
  for (const [name, entry] of Object.values(sections).flatMap((commands) => Object.entries(commands))) {
    const file = await entry.load();
    const path = `${prefix}${name}`;
    if (file.commands) found.push(...(await allCommands({ Commands: file.commands }, `${path} `)));
    else found.push({ path, usage: usageOf(`tapwire ${path}`, entry, file) });
  }
  return found;
}

function usageOf(
  path: string,
  { description }: CommandEntry,
  { USAGE }: { readonly USAGE?: string | undefined },
): string {
  // A description without arguments begins with a word.
  const usage = USAGE ?? `usage: ${path}${/^[a-z]/.test(description) ? ':' : ''} ${description}`;
  const examples = EXAMPLES[path.split(' ').slice(1).join(' ')] ?? [];
  return examples.length === 0 ? usage : `${usage}\n\nExamples:\n${examples.map((each) => `  ${each}`).join('\n')}`;
}

function printed(text: string): number {
  console.log(text);
  return 0;
}

/** After `--`, an argument is a value even if it looks like an option. */
function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

function listOf(program: string, sections: Sections): string {
  const names = Object.values(sections).flatMap((commands) => Object.keys(commands));
  const width = Math.max(...names.map(({ length }) => length));
  const blocks = Object.entries(sections).map(([heading, commands]) => {
    const lines = Object.entries(commands).map(([name, { description }]) => `  ${name.padEnd(width)}  ${description}`);
    return `${heading}\n${lines.join('\n')}`;
  });
  const usage = `usage: ${program} COMMAND [options]        ${program} COMMAND --help: how to use it${program === 'tapwire' ? '\n       tapwire --env-file FILE COMMAND        with the settings of the file' : ''}`;
  return `${usage}\n\n${blocks.join('\n\n')}`;
}

function versionOfPackage(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** The name that differs least from the given one, if it is likely the one that was meant. */
function nearest(given: string, names: readonly string[]): string | undefined {
  const ranked = names.map((name) => ({ name, typos: distance(given, name) })).sort((a, b) => a.typos - b.typos);
  const best = ranked[0];
  return best && best.typos <= Math.min(MAX_TYPOS, given.length - 1) ? best.name : undefined;
}

/** The number of characters to insert, remove or replace (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries())
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (character === wanted ? 0 : 1)));
    row = next;
  }
  return row.at(-1)!;
}
