import { readFileSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import type { ParseArgsOptionsConfig } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { SETTINGS } from '#schemas/admin-operations';
import { newAcquirer } from '#schemas/admin-tenants';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { StartError } from '../../basics/errors.ts';
import { type Config, environment } from '../../start/config/environment.ts';
import { urlWithoutSecrets } from '../../store/postgres/open-database.ts';
import { namingOptions } from '../administration.ts';
import { readYesOrNo, text } from '../arguments.ts';

/** What is created in the database. */
export type Tenant = 'acquirer' | 'integrator' | 'merchant' | 'terminal' | 'administrator';

/** The answers by the names of their questions. An empty text is the answer "none". */
export type Answers = Readonly<Record<string, string>>;

/** One answer of `tapwire init`: a flag, a key of the file with answers, and a question on a terminal. */
export interface Question {
  /** `merchant-id` for `--merchant-id`. */
  readonly name: string;
  readonly asks: string;
  /** A value that would do. */
  readonly example: string;
  /** The settings of tapwire.env that have the answer as their value. */
  readonly settings?: readonly (keyof Config)[];
  /** The property of a tenant that has the answer as its value. */
  readonly property?: readonly [Tenant, string];
  /** Accepts the answer, after `read`. */
  readonly schema?: z.ZodType;
  readonly read?: (text: string) => unknown;
  /** The answer if none is given; undefined if one is required. */
  readonly fallback?: string | ((answers: Answers) => string | undefined);
  /** What a missing answer is called, if not `is required`. */
  readonly missing?: string;
  /** Whether there is something to ask, after the answers before. */
  readonly applies?: (answers: Answers) => boolean;
}

const isDev = ({ environment }: Answers) => environment === 'dev';
const servesTls = (answers: Answers) => !isDev(answers) && answers.proxy === '';
const hasToken = ({ keys }: Answers) => keys === 'token';
const hasRealSwitch = (answers: Answers) => simulatedPort(answers) === undefined;
/** Where `tapwire simulate type-1` listens in the examples. */
const SIMULATED_PORT = 9101;

const WITHOUT_PROXY = 'is required unless --proxy names a proxy that terminates TLS';

/** A question whose answer is the value of settings, and is valid if they accept it. */
function ofSetting(
  name: string,
  settings: [keyof Config, ...(keyof Config)[]],
  asks: string,
  example: string,
  more: Partial<Question> = {},
): Question {
  return { name, settings, asks, example, schema: environment.shape[settings[0]], ...more };
}

/** A question whose answer is a property of a tenant, and is valid if the admin API accepts it. */
function ofTenant(
  name: string,
  property: readonly [Tenant, string],
  asks: string,
  example: string,
  more: Partial<Question> = {},
): Question {
  const schemas = BODIES[property[0]].shape as Readonly<Record<string, z.ZodType>>;
  return { name, property, asks, example, schema: schemas[property[1]]!, ...more };
}

/** The bodies with which the admin API adds the tenants. */
export const BODIES = {
  acquirer: newAcquirer,
  integrator: SETTINGS.integrators.add.body,
  merchant: SETTINGS.merchants.add.body,
  terminal: SETTINGS.terminals.add.body,
  administrator: SETTINGS.users.add.body,
};

export const QUESTIONS: readonly Question[] = [
  ofSetting('environment', ['TAPWIRE_ENV'], 'Environment: prod, qa or dev', 'prod', { fallback: 'prod' }),
  ofSetting('host', ['HOST'], 'Address to listen on', '127.0.0.1', { fallback: '127.0.0.1' }),
  ofSetting('port', ['PORT'], 'Port to listen on', '8080', { fallback: '8080' }),
  ofSetting('url', ['BASE_URL', 'APP_URL'], 'URL at which phones and integrators reach it', 'https://pay.example.com', {
    fallback: (answers) => (isDev(answers) ? `http://127.0.0.1:${answers.port}` : undefined),
  }),
  ofSetting(
    'proxy',
    ['TRUSTED_PROXIES'],
    'Address of the proxy that terminates TLS; none if Tapwire does',
    '10.0.0.5',
    {
      fallback: '',
      applies: (answers) => !isDev(answers),
    },
  ),
  ofSetting('tls-cert', ['TLS_CERT_FILE'], 'PEM file of the certificate', '/etc/tapwire/tls/fullchain.pem', {
    applies: servesTls,
    missing: WITHOUT_PROXY,
  }),
  ofSetting('tls-key', ['TLS_KEY_FILE'], 'PEM file of its private key', '/etc/tapwire/tls/privkey.pem', {
    applies: servesTls,
    missing: WITHOUT_PROXY,
  }),
  ofSetting(
    'database',
    ['DATABASE_URL'],
    'URL of the Postgres database, or file:PATH of a file that contains it',
    'postgres://tapwire@db.internal/tapwire',
    { fallback: (answers) => (isDev(answers) ? '' : undefined) },
  ),
  ofSetting('data', ['TAPWIRE_DATA'], 'Folder for keys and files', '/var/lib/tapwire', {
    fallback: (answers) => (isDev(answers) ? '.tapwire' : '/var/lib/tapwire'),
  }),
  {
    name: 'keys',
    asks: 'Keys of the installation: in a file, or in a PKCS #11 token',
    example: 'file',
    schema: z.enum(['file', 'token']),
    fallback: 'file',
  },
  ofSetting('pkcs11-module', ['PKCS11_MODULE'], 'PKCS #11 library', '/usr/lib/softhsm/libsofthsm2.so', {
    applies: hasToken,
  }),
  ofSetting('pkcs11-token', ['PKCS11_TOKEN'], 'Label of the token', 'tapwire', { applies: hasToken }),
  ofSetting('pkcs11-pin-file', ['PKCS11_PIN_FILE'], 'File with its PIN', '/etc/tapwire/token.pin', {
    applies: hasToken,
  }),
  ofTenant('acquirer', ['acquirer', 'name'], 'Name of the first acquirer', 'First Bank'),
  { name: 'processor', asks: 'Type of its switch', example: 'type-1', fallback: 'type-1' },
  {
    name: 'switch',
    asks: 'Switch: simulated[:PORT], or the file with its configuration (tapwire processor example TYPE)',
    example: 'simulated',
    fallback: 'simulated',
  },
  {
    name: 'networks',
    asks: 'Networks of the switch that the acquirer may reach; none for those of its addresses',
    example: '10.1.0.5:9101',
    fallback: '',
    applies: hasRealSwitch,
  },
  ofSetting(
    'hsm',
    ['HSM_MODULE'],
    'File of the HSM with the keys of the switch; none without MACs and PINs',
    '/etc/tapwire/hsm.json',
    {
      fallback: '',
      applies: hasRealSwitch,
    },
  ),
  ofTenant('integrator', ['integrator', 'name'], 'Company that writes the software of merchants', 'Shop Software', {
    fallback: 'Shop Software',
  }),
  ofTenant('merchant-id', ['merchant', 'id'], 'Id of the first merchant', '1001', { fallback: '1001' }),
  ofTenant('merchant', ['merchant', 'name'], 'Name of the merchant', 'Corner Coffee'),
  ofTenant('street', ['merchant', 'street'], 'Street, for receipts', '1 Long Street', { fallback: '' }),
  ofTenant('city', ['merchant', 'city'], 'City, for receipts', 'Cape Town', { fallback: '' }),
  ofTenant('country', ['merchant', 'country'], 'Country, two letters', 'ZA'),
  ofTenant('currency', ['merchant', 'currency'], 'Currency, three letters', 'ZAR'),
  ofTenant('mcc', ['merchant', 'mcc'], 'Merchant category code, four digits', '5814'),
  ofTenant('time-zone', ['merchant', 'timeZone'], 'Time zone', 'Africa/Johannesburg'),
  ofTenant('terminal', ['terminal', 'xTid'], 'Name of the first terminal in tokens', 'TERM0001', {
    fallback: 'TERM0001',
  }),
  ofTenant('tid', ['terminal', 'tid'], 'Its terminal id at the switch (DE41)', 'TW000001'),
  ofTenant('mid', ['terminal', 'mid'], 'Merchant id at the switch (DE42)', 'SHOP00000000001'),
  ofTenant('takes-pin', ['terminal', 'canTakePin'], 'Whether a PIN can be entered: yes or no', 'no', {
    read: readYesOrNo,
    schema: z.boolean({ error: 'must be yes or no' }),
    fallback: 'no',
  }),
  ofTenant('administrator', ['administrator', 'username'], 'User name of the first administrator', 'ops@bank.example'),
];

/** The port of the simulated switch that `--switch` names; undefined for a file with a configuration. */
export function simulatedPort(answers: Answers): number | undefined {
  const found = /^simulated(?::(\d{1,5}))?$/.exec(answers.switch ?? '');
  return found ? Number(found[1] ?? SIMULATED_PORT) : undefined;
}

/** The options of the command. */
export const ANSWER_OPTIONS: ParseArgsOptionsConfig = Object.fromEntries(QUESTIONS.map(({ name }) => [name, text]));

/** No database URL is longer. */
const MAX_ANSWER_CHARS = 2_048;
/** Every answer at its maximum, with comments. */
const MAX_FILE_BYTES = 131_072;
/**
 * The readers of tapwire.env (systemd, Docker, Node) treat quotes, backslashes, `#` and spaces in different ways, and a
 * line break would begin another setting.
 */
const PLAIN = /^[^\s"'`\\#$]*$/;

/** Why an answer cannot be used; undefined if it can. */
export function faultOf({ schema, settings, read = (given) => given }: Question, given: string): string | undefined {
  if (given.length > MAX_ANSWER_CHARS) return `must have at most ${MAX_ANSWER_CHARS} characters`;
  if (settings && !PLAIN.test(given)) return 'must not contain spaces, quotes, backslashes, # or $; URLs can have %20';
  return schema?.safeParse(read(given)).error?.issues[0]?.message;
}

/** `--mcc: must be four digits, such as 5814`. */
export function lineOf({ name, example }: Pick<Question, 'name' | 'example'>, fault: string): string {
  return `  --${name}: ${fault}${fault.includes(example) ? '' : `, such as ${example}`}`;
}

/** @throws StartError BAD_CONFIG with these faults, if there are any */
export function refuse(faults: readonly string[], title = 'Nothing was changed.'): void {
  if (faults.length > 0) throw new StartError('BAD_CONFIG', `${title}\n${faults.join('\n')}`);
}

/** Asks one question on a terminal. @throws StartError BAD_USAGE when the input ends */
export type Ask = (question: string) => Promise<string>;

/**
 * Completes the given answers: from `known` settings, by asking, or with the value that applies without an answer.
 *
 * @param known settings that exist, by name; they come before the value that applies otherwise
 * @param ask undefined if there is no terminal, or nothing is to be asked
 * @param former answers of an earlier round, proposed again
 * @throws StartError BAD_CONFIG naming each flag whose value is missing or invalid, before anything is changed
 */
export async function completeAnswers(
  given: Answers,
  known: NodeJS.ProcessEnv,
  ask: Ask | undefined,
  former: Answers = {},
): Promise<Answers> {
  const answers: Record<string, string> = {};
  const faults: string[] = [];
  for (const question of QUESTIONS) {
    const { name, settings = [], applies, fallback, missing = 'is required' } = question;
    const isAsked = applies?.(answers) ?? true;
    const without = typeof fallback === 'function' ? fallback(answers) : fallback;
    const otherwise = former[name] || (known[settings[0] ?? ''] ?? without);
    const offered = given[name];
    const isUsable = offered !== undefined && faultOf(question, offered) === undefined;
    const answer = isAsked && ask && !isUsable ? await answerOf(question, otherwise, ask) : (offered ?? otherwise);
    answers[name] = isAsked ? (answer ?? '') : '';
    if (!isAsked) {
      if (given[name]) faults.push(`  --${name}: has no effect with the other answers; leave it out`);
    } else if (!answer) {
      if (without !== '') faults.push(lineOf(question, missing));
    } else {
      const fault = faultOf(question, answer);
      if (fault !== undefined) faults.push(lineOf(question, fault));
    }
  }
  refuse(faults);
  return answers;
}

/** Asks until the answer can be used. */
async function answerOf(question: Question, otherwise: string | undefined, ask: Ask | undefined) {
  if (ask === undefined) return otherwise;
  const shown = otherwise && question.name === 'database' ? urlWithoutSecrets(otherwise) : otherwise;
  const hint = otherwise ? ` [${shown}]` : otherwise === '' ? ' [none]' : ` (such as ${question.example})`;
  for (;;) {
    const answer = (await ask(`${question.asks}${hint}: `)).trim() || otherwise;
    const fault = answer === undefined ? 'is required' : answer === '' ? undefined : faultOf(question, answer);
    if (fault === undefined) return answer;
    console.error(lineOf(question, fault));
  }
}

/** Asks on this terminal; the questions are not part of standard output. */
export function openTerminal(): { readonly ask: Ask; close(): void } {
  const input = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new AbortController();
  input.once('close', () => ended.abort());
  const ask = (question: string) =>
    input.question(question, { signal: ended.signal }).catch(() => {
      throw new StartError('BAD_USAGE', 'The input ended before the last question. Nothing was changed.');
    });
  return { ask, close: () => input.close() };
}

/** Reads the file of `--answers`: JSON or YAML, with the names of the flags. @throws StartError BAD_CONFIG */
export function readAnswers(path: string): Answers {
  let content: unknown;
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`is larger than ${MAX_FILE_BYTES} bytes`);
    // Every scalar is a text: a merchant category code keeps its zeros, and `no` is no.
    content = parseYaml(readFileSync(path, 'utf8'), { schema: 'failsafe' });
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `--answers ${path}: ${describeSystemError(cause)}`, { cause });
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new StartError('BAD_CONFIG', `--answers ${path}: must contain lines such as "merchant: Corner Coffee"`);
  const faults = Object.entries(content).flatMap(([name, answer]) => {
    if (!Object.hasOwn(ANSWER_OPTIONS, name)) return [`  ${name}: is not an answer; tapwire init --help lists them`];
    return typeof answer === 'string' ? [] : [`  ${name}: must be one value`];
  });
  if (faults.length > 0) throw new StartError('BAD_CONFIG', `--answers ${path}:\n${faults.join('\n')}`);
  return content as Answers;
}

/** The body of a tenant, from the answers that are its properties. */
export function bodyOf(tenant: Tenant, answers: Answers): Record<string, unknown> {
  const own = QUESTIONS.filter(({ property }) => property?.[0] === tenant);
  return Object.fromEntries(
    own.map(({ name, property, read }) => [property![1], read ? read(answers[name]!) : answers[name]!]),
  );
}

/** Runs `act`; what it refuses of the tenant names flags. */
export function namingFlags<Result>(tenant: Tenant, act: () => Result | Promise<Result>): Promise<Result> {
  const isOf = (property: string) => (each: Question) => each.property?.[0] === tenant && each.property[1] === property;
  return namingOptions((property) => QUESTIONS.find(isOf(property))?.name, act);
}
