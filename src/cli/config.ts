import { parseArgs } from 'node:util';
import { type Config, readConfig, type Setting, settings } from '../config.ts';
import { SECRETS } from '../ops/secret-files.ts';
import { tableOf } from './table.ts';
import { flag } from './words.ts';

const WITHHELD = '[withheld]';
/** Shown with everything but its password. */
const IS_URL = 'DATABASE_URL';
const COMMENT_CHARS = 118;

/** `tapwire config`: the settings in effect and where each comes from. `--example`: an .env file with all there are. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { example: flag } });
  console.log(values.example ? exampleOf(settings()) : effectiveTable(readConfig(process.env), process.env));
  return 0;
}

/** One row per setting: name, value, source. */
export function effectiveTable(config: Config, variables: NodeJS.ProcessEnv): string {
  const rows = settings().map(({ name }) => {
    return [name, shown(name, config[name as keyof Config]), sourceOf(name, variables)];
  });
  return tableOf([['setting', 'value', 'from'], ...rows]);
}

/** Every setting commented out at its usual value, under what it says: `.env.example`. */
export function exampleOf(all: readonly Setting[]): string {
  const head = '# Every setting of Tapwire, at its usual value. Made by `tapwire config --example`.\n';
  const each = all.map(
    ({ name, description, defaultValue }) => `${wrapped(description)}\n#${name}=${defaultValue ?? ''}\n`,
  );
  return [head, ...each].join('\n').trimEnd();
}

function sourceOf(name: string, variables: NodeJS.ProcessEnv): string {
  if (variables[name] !== undefined) return 'environment';
  return variables[`${name}_FILE`] === undefined ? 'usual' : 'file';
}

function shown(name: string, value: unknown): string {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return '-';
  if (name !== IS_URL && SECRETS.some((secret) => secret === name)) return WITHHELD;
  const text = Array.isArray(value) ? value.join(',') : typeof value === 'object' ? 'set' : String(value);
  return withoutPassword(text);
}

/** A URL may carry a password between its colon and its @. */
function withoutPassword(text: string): string {
  const url = text.includes('@') ? URL.parse(text) : null;
  if (!url?.password) return text;
  url.password = 'withheld';
  return url.href;
}

function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1)!.length + word.length > COMMENT_CHARS) lines.push('');
    lines[lines.length - 1] += ` ${word}`;
  }
  return lines.map((line) => `#${line}`).join('\n');
}
