/** `completion bash|zsh`: a script that completes commands and options, generated from the existing commands. */
import { Argument, type Command } from 'commander'

const shells = ['bash', 'zsh'] as const
type Shell = (typeof shells)[number]

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell that you use').choices(shells))
    .description('Prints a script that completes commands and options.')
    .addHelpText(
      'after',
      '\nbash: tollgate completion bash > ~/.local/share/bash-completion/completions/tollgate' +
        '\nzsh:  tollgate completion zsh > a folder of $fpath, as _tollgate; then start a new shell',
    )
    .action((shell: Shell) => {
      process.stdout.write(renderCompletion(program, shell))
    })
}

/** The words that may follow each command, by the words that lead to it. */
function collectWords(command: Command, path: string): readonly (readonly [string, string])[] {
  const options = command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => (long ? [long] : []))
  const names = command.commands.map(child => child.name())
  return [
    [path, [...names, ...options, '--help'].join(' ')],
    ...command.commands.flatMap(child => collectWords(child, `${path} ${child.name()}`)),
  ]
}

const renderCases = (program: Command): string =>
  collectWords(program, 'tollgate')
    .map(([path, words]) => `    "${path}") choices="${words}" ;;`)
    .join('\n')

/**
 * The longest path of words that is a command decides; options and arguments before the cursor are skipped. `path` and
 * `words` would be zsh's own variables.
 */
const walk = (program: Command): string => `_tollgate_words() {
  local word choices="" reached=tollgate
  for word in "$@"; do
    case "$reached $word" in
${collectWords(program, 'tollgate')
  .slice(1)
  .map(([path]) => `      "${path}") reached="${path}" ;;`)
  .join('\n')}
    esac
  done
  case "$reached" in
${renderCases(program)}
  esac
  echo "$choices"
}`

export const renderCompletion = (program: Command, shell: Shell): string =>
  shell === 'bash'
    ? `# Completion of tollgate for bash.
${walk(program)}
_tollgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$(_tollgate_words "\${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "$current"))
}
complete -o default -F _tollgate tollgate
`
    : `#compdef tollgate
# Completion of tollgate for zsh.
${walk(program)}
_tollgate() {
  compadd -- \${=$(_tollgate_words "\${(@)words[2,CURRENT-1]}")} || _files
}
# Read from a folder of $fpath, this whole file is the first call of _tollgate.
if [ "\${funcstack[1]}" = _tollgate ]; then _tollgate "$@"; else compdef _tollgate tollgate; fi
`
