import { StartError } from '../errors.ts';
import { allCommands, type DescribedCommand, type Sections } from './commands.ts';

export const USAGE = `usage: tapwire completion bash|zsh|fish        print a script that completes commands and options

  bash  add to ~/.bashrc:                   source <(tapwire completion bash)
  zsh   add to ~/.zshrc, after compinit:    source <(tapwire completion zsh)
  fish  tapwire completion fish > ~/.config/fish/completions/tapwire.fish`;

/** `tapwire completion`: the words are those of this version, so a new version needs no new script in bash and zsh. */
export async function printCompletion(commands: Sections, [shell, ...others]: string[]): Promise<number> {
  const write = shell === undefined || others.length > 0 ? undefined : SCRIPTS[shell];
  if (!write) throw new StartError('BAD_USAGE', USAGE);
  console.log(write(wordsOf(await allCommands(commands))));
  return 0;
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

function bash(words: Words): string {
  return `_tapwire() {
  local before="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) before="\${before:+$before }$word" ;; esac
  done
  case "$before" in
${casesOf(words, (following) => `COMPREPLY=($(compgen -W "${following}" -- "\${COMP_WORDS[COMP_CWORD]}"))`)}
  esac
}
complete -o default -F _tapwire tapwire`;
}

function zsh(words: Words): string {
  return `_tapwire() {
  local before="" word
  for word in "\${words[@]:1:CURRENT-2}"; do
    case "$word" in -*) ;; *) before="\${before:+$before }$word" ;; esac
  done
  case "$before" in
${casesOf(words, (following) => `compadd -- ${following}`)}
    *) _files ;;
  esac
}
compdef _tapwire tapwire`;
}

function casesOf(words: Words, complete: (following: string) => string): string {
  return [...words].map(([before, following]) => `    "${before}") ${complete(following.join(' '))} ;;`).join('\n');
}

function fish(words: Words): string {
  const rules = [...words].map(([before, following]) => {
    const condition = `test (string join ' ' (string match -v -- '-*' (commandline -opc)[2..])) = '${before}'`;
    return `complete -c tapwire -f -n "${condition}" -a "${following.join(' ')}"`;
  });
  return rules.join('\n');
}
