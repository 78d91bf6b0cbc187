import { StartError } from '../basics/errors.ts';
import { askProcess, readReportedFigures } from '../console/store/stored-figures.ts';
import type { ProcessCommand, ProcessFigures } from '../observe/figures.ts';
import { LOG_LEVELS, type LogLevel } from '../observe/log.ts';
import { onPresentDatabase } from './administration.ts';
import { countIn, readWords, text } from './arguments.ts';

export const USAGE = `usage: tapwire log-level LEVEL [--minutes 10]        change what the running processes log, for a while

  LEVEL      trace, debug, info, warn, error or silent
  --minutes  afterwards LOG_LEVEL applies again; at most a day, because debug has a line for each request`;

const MAX_MINUTES = 1_440;

/** `tapwire log-level`: asks every process of the database to use another level; each obeys within a second. */
export async function run(args: string[]): Promise<number> {
  const options = { minutes: { ...text, default: '10' } };
  const { values, words } = readWords(args, options);
  const [level, ...others] = words;
  if (!LOG_LEVELS.includes(level as LogLevel) || others.length > 0) throw new StartError('BAD_USAGE', USAGE);
  const minutes = countIn(values.minutes, '--minutes', MAX_MINUTES);
  const command: ProcessCommand = { do: 'log', level: level as LogLevel, minutes };
  const asked = await onPresentDatabase(async (database) => {
    const running = await readReportedFigures<ProcessFigures>(database);
    const isAsked = await Promise.all(running.map(({ id }) => askProcess(database, id, command)));
    return running.filter((_, at) => isAsked[at]).map(({ figures }) => figures);
  });
  for (const { host, pid, role } of asked)
    console.log(`${host}, process ${pid} (${role}): ${level} for ${minutes} min`);
  if (asked.length > 0) return 0;
  console.error('tapwire: no process of the gateway runs on this database.');
  return 1;
}
