import { entryNamed } from '../kits/plug-ins/load-plug-ins.ts';
import { readerConformance } from '../kits/reader-kit/conformance.ts';
import { builtInReaders, loadReader } from '../kits/reader-kit/load-readers.ts';
import { readReaderNames } from '../start/config.ts';
import { flag, onlyWord, readWords } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { listPlugIns, printResults } from './plug-ins.ts';

/** `tapwire reader ...`: the reader formats of this installation. Terminal profiles name them. */
export const commands: Commands = {
  list: command(': list the formats, those of READERS included', list),
  verify: command('PATH|PACKAGE|FORMAT [--json]: run the conformance suite over a format', verify),
};

function list(): Promise<number> {
  return listPlugIns({
    idName: 'format',
    builtIn: builtInReaders(),
    external: readReaderNames(process.env),
    load: async (entry) => {
      const { format, name } = await loadReader(entry);
      return { id: format, name };
    },
  });
}

/** Exit code 1 when a check fails or the format cannot be loaded. */
async function verify(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { json: flag });
  const given = onlyWord(words, 'usage: tapwire reader verify PATH|PACKAGE|FORMAT [--json]');
  const entry = entryNamed(given, builtInReaders());
  const reader = await loadReader(entry);
  const { format, name } = reader;
  const results = await readerConformance(reader);
  if (values.json) console.log(JSON.stringify({ format, name, entry, results }, null, 2));
  else printResults(`${name}, format ${format}, ${entry}`, results);
  return results.every(({ passed }) => passed) ? 0 : 1;
}
