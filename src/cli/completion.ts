import { StartError } from '../basics/errors.ts';
import { allCommands, type DescribedCommand, type Sections } from './commands.ts';

export const USAGE = `usage: tapwire completion bash|zsh|fish        print a script that completes commands and options

  bash  add to ~/.bashrc:                   source <(tapwire completion bash)
  zsh   add to ~/.zshrc, after compinit:    source <(tapwire completion zsh)
  fish  tapwire completion fish > ~/.config/fish/completions/tapwire.fish`;

/** `tapwire completion`: the words are those of this version, so a new version needs no new script in bash and zsh. */
export async function printCompletion(commands: Sections, [shell, ...others]: string[]): Promise<void> {
  const write = shell === undefined || others.length > 0 ? undefined : SCRIPTS[shell];
  if (!write) throw new StartError('BAD_USAGE', USAGE);
  console.log(write(wordsOf(await allCommands(commands))));
}

/** The words that may follow, by those that precede: `''`, `processor`, `processor add`. */
type Words = ReadonlyMap<string, readonly string[]>;

const SCRIPTS: Readonly<Record<string, (words: Words) => string>> = { bash, zsh, fish };

function wordsOf(commands: readonly DescribedCommand[]): Words {
  const words = new Map<string, Set<string>>();
  const add = (before: string, word: string) => words.set(before, (words.get(before) ?? new Set()).add(word));
  for (const { path, usage } of commands) {
    const names = path.split(' ');
    for (const [index, name] of names.entries()) add(names.slice(0, index).join(' '), name);
    for (const [option] of usage.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)) add(path, option);
    add(path, '--help');
  }
  return new Map([...words].map(([before, following]) => [before, [...following]]));
}

/**
 * The command before the cursor consists of the words that extend a known command. Others are options, their values and
 * arguments.
 */
function bash(words: Words): string {
  return `_tapwire() {
  local command="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${command:+$command }$word" in
      ${patternOf(words)}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command" in
${casesOf(words, (following) => `COMPREPLY=($(compgen -W "${following}" -- "\${COMP_WORDS[COMP_CWORD]}"))`)}
  esac
}
complete -o default -F _tapwire tapwire`;
}

function zsh(words: Words): string {
  return `_tapwire() {
  local command="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${command:+$command }$word" in
      ${patternOf(words)}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command" in
${casesOf(words, (following, isGroup) => `compadd -- ${following}${isGroup ? '' : '; _files'}`)}
  esac
}
compdef _tapwire tapwire`;
}

function patternOf(words: Words): string {
  return commandsIn(words)
    .map((command) => `"${command}"`)
    .join('|');
}

function casesOf(words: Words, complete: (following: string, isGroup: boolean) => string): string {
  return [...words]
    .map(([command, following]) => `    "${command}") ${complete(following.join(' '), isGroup(words, command))} ;;`)
    .join('\n');
}

function fish(words: Words): string {
  const quoted = (commands: readonly string[]) => commands.map((command) => `'${command}'`).join(' ');
  const cases = [...words].map(
    ([command, following]) => `        case '${command}'\n            printf '%s\\n' ${following.join(' ')}`,
  );
  const groups = [...words.keys()].filter((command) => isGroup(words, command));
  return `function __tapwire_command
    set -l command ''
    for word in (commandline -opc)[2..-1]
        set -l longer (string trim -- "$command $word")
        contains -- $longer ${quoted(commandsIn(words))}; and set command $longer
    end
    echo $command
end

function __tapwire_words
    switch (__tapwire_command)
${cases.join('\n')}
    end
end

complete -c tapwire -a '(__tapwire_words)'
complete -c tapwire -f -n "contains -- (__tapwire_command) ${quoted(groups)}"`;
}

function commandsIn(words: Words): readonly string[] {
  return [...words.keys()].filter((command) => command !== '');
}

/** Whether another command follows, and no file. */
function isGroup(words: Words, command: string): boolean {
  return words.get(command)!.some((word) => !word.startsWith('-'));
}
