import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import { settings as allSettings, type Config, readConfig } from '../../start/config.ts';
import { switchAccessOf } from '../../start/open-hsm-and-readers.ts';
import { keyRingPath } from '../../start/open-key-ring.ts';
import { type PreparedDatabase, prepareDatabase } from '../../start/open-stores.ts';
import { type GrantSetting, keysNamedBy } from '../../switching/switches/access/switch-access.ts';
import { fitting, flag, readJson, readOptions, text } from '../arguments.ts';
import { toCliError } from '../command-end.ts';
import { describedLine } from '../config.ts';
import { examine, printFindings } from '../doctor.ts';
import { createMissingKeys } from '../keys.ts';
import { tableOf } from '../output.ts';
import { installedTypes } from '../plug-ins.ts';
import {
  ANSWER_OPTIONS,
  type Answers,
  completeAnswers,
  lineOf,
  openTerminal,
  QUESTIONS,
  readAnswers,
  refuse,
  simulatedPort,
} from './answers.ts';
import { examineWithTap } from './first-tap.ts';
import { checkTenants, ensureAcquirer, ensureTenants } from './tenants.ts';

const WIDTH = Math.max(...QUESTIONS.map(({ name, example }) => `${name} ${example}`.length)) + 2;

/** What `--help` prints. */
export const USAGE = `usage: tapwire init [--out tapwire.env] [--answers FILE] [--yes] [--ANSWER VALUE ...]

Leads from nothing to an installation that works: writes tapwire.env, creates the keys, the database schema, the first
acquirer with its processor, a merchant, a terminal and an administrator, runs the doctor, and submits one tap to a
simulated switch. On a terminal it asks for each answer that is not given. What exists already stays as it is.

  --out FILE      the file with the settings; the others read it with tapwire --env-file FILE
  --answers FILE  answers as JSON or YAML, with the names of the flags below: "merchant: Corner Coffee"
  --yes           ask nothing; what is not given has its default value

Answers, with values that would do:

${QUESTIONS.map(({ name, example, asks }) => `  --${`${name} ${example}`.padEnd(WIDTH)}${asks}`).join('\n')}`;

/** `tapwire init`: exit code 1 if the doctor finds a fault or the test tap is not approved. */
export async function run(args: string[]): Promise<number> {
  const options = { ...ANSWER_OPTIONS, answers: text, out: { ...text, default: 'tapwire.env' }, yes: flag } as const;
  const { answers: file, out, yes, ...flags } = readOptions(args, options) as Flags;
  const given: Answers = { ...(file !== undefined && readAnswers(file)), ...flags };
  const existing = existsSync(out) ? parseEnv(readFileSync(out, 'utf8')) : undefined;
  // A secret can be known as a file.
  const { DATABASE_URL_FILE: secret, ...known } = { ...process.env, ...existing };
  if (secret) known.DATABASE_URL = `file:${secret}`;
  const check = async (answers: Answers) => {
    const chosen = settingsOf(answers);
    if (existing) refuseChanges(out, existing, chosen, given);
    const settings = (more: NodeJS.ProcessEnv) => checkedSettings({ ...process.env, ...chosen, ...existing, ...more });
    await checkTenants(answers);
    return { answers, chosen, settings, ...(await switchOf(answers)), prepared: await openDatabase(settings({})) };
  };
  const isTerminal = process.stdin.isTTY && !yes && file === undefined;
  const checked = isTerminal
    ? await askUntilUsable(given, known, check)
    : await check(await completeAnswers(given, known, undefined));
  const { answers, chosen, settings, processor, config, prepared } = checked;
  try {
    await refuseLostKeys(prepared, settings({}));
    const acquirerId = await ensureAcquirer(prepared.database, answers);
    const written = existing ?? {
      ...chosen,
      METRICS_TOKEN: randomToken(),
      ...grantsOf(acquirerId, answers, config, settings({})),
    };
    const final = settings(written);
    refuseForeign(acquirerId, config, final, out);
    if (!existing) writeEnvironment(out, written);
    console.log(existing ? `exists   ${out}` : `created  ${out}: the settings`);
    console.log(`         ${await createMissingKeys(final, answers.keys === 'token')}`);
    const tenants = await ensureTenants(prepared.database, final, acquirerId, answers, config);
    const port = simulatedPort(answers);
    const isAlone = port !== undefined && (await isOnlySwitch(prepared, port));
    if (!isAlone) console.log('         No test tap is sent, because there is a switch that is not simulated.');
    const exitCode =
      port === undefined || !isAlone
        ? printFindings(await examine(final, Date.now()))
        : await examineWithTap({ settings: final, prepared, tenants, answers, processor, config, port });
    console.log(nextSteps(out, answers, exitCode, isAlone ? port : undefined));
    return exitCode;
  } finally {
    await prepared.stop();
  }
}

type Flags = Answers & { readonly answers?: string; readonly out: string; readonly yes: boolean };

/** Asks again, with the former answers as proposals, if the answers cannot be used together or the database does not respond. */
async function askUntilUsable<Result>(
  given: Answers,
  known: NodeJS.ProcessEnv,
  use: (answers: Answers) => Promise<Result>,
): Promise<Result> {
  const terminal = openTerminal();
  try {
    let answers = await completeAnswers(given, known, terminal.ask);
    for (;;) {
      try {
        return await use(answers);
      } catch (error) {
        const fault = toCliError(error);
        if (fault === undefined) throw error;
        console.error(`\n${fault.description}\n\nOnce more; an empty line keeps an answer.`);
        answers = await completeAnswers({}, known, terminal.ask, answers);
      }
    }
  } finally {
    terminal.close();
  }
}

/** The settings that the answers choose, without those of the acquirer. */
function settingsOf(answers: Answers): Record<string, string> {
  const chosen = QUESTIONS.flatMap(({ name, settings = [] }) => settings.map((setting) => [setting, answers[name]!]));
  const { DATABASE_URL: database = '', ...others } = Object.fromEntries(chosen.filter(([, value]) => value !== ''));
  if (database === '') return others;
  const [, file] = /^file:(.+)$/.exec(database) ?? [];
  return { ...others, ...(file === undefined ? { DATABASE_URL: database } : { DATABASE_URL_FILE: file }) };
}

function refuseChanges(out: string, existing: NodeJS.ProcessEnv, chosen: Answers, given: Answers): void {
  const changed = QUESTIONS.flatMap(({ name, settings = [] }) =>
    given[name] === undefined
      ? []
      : settings.filter((each) => chosen[each] !== existing[each]).map((each) => [name, each]),
  );
  refuse(changed.map(([name, setting]) => `  --${name}: ${out} has another ${setting}; change the line there`));
}

/** @throws StartError BAD_CONFIG naming the flag that sets each invalid setting */
function checkedSettings(variables: NodeJS.ProcessEnv): Config {
  try {
    return readConfig(variables);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const reason = error.reason.replaceAll(/^ {2}([A-Z\d_]+): (.*)$/gm, (line, name: string, fault: string) => {
      const question = QUESTIONS.find(({ settings = [] }) => settings.some((each) => each === name));
      return question ? lineOf(question, `(${name}) ${fault}`) : line;
    });
    throw new StartError('BAD_CONFIG', reason, { cause: error });
  }
}

/** The processor type, and the configuration of the switch. @throws StartError BAD_CONFIG naming the flag */
async function switchOf(answers: Answers): Promise<{ processor: Processor; config: SwitchConfig }> {
  const types = await installedTypes();
  const processor = types.get(answers.processor!);
  const names = [...types.keys()].join(', ');
  if (!processor) throw new StartError('BAD_CONFIG', `--processor: must be one of ${names}`);
  const port = simulatedPort(answers);
  const given =
    port === undefined
      ? readJson('--switch', answers.switch)
      : { ...processor.exampleConfig, addresses: [{ host: '127.0.0.1', port }] };
  const data = fitting(processor.configSchema, given, `--switch ${answers.switch}`);
  const hasKeys = keysNamedBy(data).length > 0;
  if (hasKeys && port !== undefined)
    refuse([
      `  --processor: ${processor.type} needs keys of an HSM; give --switch FILE and --hsm FILE, or another type`,
    ]);
  if (hasKeys && !answers.hsm && !process.env.HSM_KEYS_FILE)
    refuse(['  --hsm: is required for the keys of the switch, such as /etc/tapwire/hsm.json']);
  return { processor, config: data };
}

async function openDatabase(settings: Config): Promise<PreparedDatabase> {
  if (settings.DATABASE_URL === undefined) mkdirSync(settings.TAPWIRE_DATA, { recursive: true });
  return prepareDatabase(settings).catch((error) => {
    if (!(error instanceof StartError)) throw error;
    throw new StartError('BAD_CONFIG', `--database: ${error.reason}`, { cause: error });
  });
}

/** Whether a gateway that starts here can reach the simulated switch only: it signs on to the switches of all acquirers. */
async function isOnlySwitch({ database }: PreparedDatabase, port: number): Promise<boolean> {
  const { rows } = await database.query<{ config: Pick<SwitchConfig, 'addresses' | 'accept'> }>(
    'select config from processors where removed_at is null',
  );
  const isSimulated = (each: { host: string; port: number }) => each.host === '127.0.0.1' && each.port === port;
  return rows.every(({ config }) => !config.accept && config.addresses.every(isSimulated));
}

/** New keys beside a database with sealed cards or secrets could not open them. */
async function refuseLostKeys({ database }: PreparedDatabase, settings: Config): Promise<void> {
  const path = keyRingPath(settings);
  if (existsSync(path) || settings.TAPWIRE_ENV === 'dev') return;
  const { rowCount } = await database.query('select from transactions limit 1');
  if (rowCount !== 0)
    throw new StartError(
      'BAD_CONFIG',
      `--data: the database has transactions, and their keys are not in ${path}. Restore the file from its backup.`,
    );
}

/** What the operator grants to the acquirer, so that its processor may use what its configuration names. */
function grantsOf(acquirerId: number, answers: Answers, config: SwitchConfig, without: Config) {
  const grants: Partial<Record<GrantSetting, string>> = {};
  for (const { setting, grant } of switchAccessOf(without).missingGrants(acquirerId, config))
    grants[setting] = grants[setting] === undefined ? grant : `${grants[setting]},${grant}`;
  if (!answers.networks) return grants;
  return {
    ...grants,
    SWITCH_NETWORKS: answers.networks
      .split(',')
      .map((each) => `${acquirerId}=${each.trim()}`)
      .join(),
  };
}

function refuseForeign(acquirerId: number, config: SwitchConfig, settings: Config, out: string): void {
  const missing = switchAccessOf(settings).missingGrants(acquirerId, config);
  const lines = missing.map(({ setting, grant }) =>
    setting === 'SWITCH_NETWORKS'
      ? `  --networks: must contain ${grant.slice(grant.indexOf('=') + 1)}; in ${out}, ${setting}=${grant}`
      : `  ${out}: must have ${setting}=${grant}`,
  );
  refuse(lines, `Acquirer ${acquirerId} may not use what the processor's configuration names.`);
}

/** 192 bits. */
function randomToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Readable for its owner only: it has the password of the database, and the token of the figures. */
function writeEnvironment(path: string, values: NodeJS.ProcessEnv): void {
  const lines = allSettings().flatMap((setting) => {
    const value = values[setting.name];
    return value === undefined ? [] : describedLine(setting, value);
  });
  const head =
    '# The settings of this installation, made by tapwire init. All others: tapwire config --example. Contains secrets.\n# Read it with tapwire --env-file, EnvironmentFile of systemd or env_file of Docker, not with a shell.\n';
  writeFileSync(path, [head, ...lines].join('\n'), { mode: 0o600, flag: 'wx' });
}

function nextSteps(out: string, answers: Answers, exitCode: number, port: number | undefined): string {
  const command = `tapwire --env-file ${out}`;
  if (exitCode !== 0) return `\nCorrect what is marked, then repeat: ${command} doctor`;
  const rows = [
    [`${command} start`, 'or the service of deploy/README.md'],
    [`${answers.url}/ops`, `the console, for ${answers.administrator}`],
    [`${command} doctor`, 'at any time; the other commands read the file in the same way'],
    ...(port === undefined
      ? []
      : [
          [`tapwire simulate ${answers.processor}=${port}`, 'the simulated switch, until there is another one:'],
          [`${command} processor change`, 'with the configuration of the real switch'],
        ]),
  ];
  return `\nNext:\n${tableOf(rows).replaceAll(/^/gm, '  ')}`;
}
