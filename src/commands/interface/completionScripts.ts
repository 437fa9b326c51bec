import type { Command } from 'commander'
import { writeOutput } from '../cli.ts'
import type { Call } from './define.ts'

export function run({ args: [shell = ''], program }: Call): void {
  writeOutput(completionScript(shell, program))
}

/** The words that can follow a command, by the path of the command, such as "keys create". */
function wordsByCommand(command: Command, path: readonly string[] = []): [path: string, words: string[]][] {
  const options = command.options.flatMap(({ long }) => long ?? [])
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const words = [...command.commands.map((each) => each.name()), ...choices, ...options, '--help']
  return [
    [path.join(' '), words],
    ...command.commands.flatMap((each) => wordsByCommand(each, [...path, each.name()])),
  ]
}

export function completionScript(shell: string, program: Command): string {
  if (shell === 'fish') return fishScript(program)
  return shell === 'bash' ? bashScript(program) : zshScript(program)
}

/** Finds the command among the words so far, such as " keys", and then chooses the words which can follow it. */
function findWords(program: Command, wordsSoFar: string, assign: (words: string) => string): string {
  const commands = wordsByCommand(program)
  const found = commands.filter(([path]) => path !== '').map(([path]) => `" ${path}") command=" ${path}" ;;`)
  const chosen = commands.map(([path, words]) => `"${path && ` ${path}`}") ${assign(words.join(' '))} ;;`)
  return `  for word in "${wordsSoFar}"; do
    case "$command $word" in
      ${found.join('\n      ')}
    esac
  done
  case "$command" in
    ${chosen.join('\n    ')}
  esac`
}

const bashScript = (program: Command): string => `_petstore() {
  local current=\${COMP_WORDS[COMP_CWORD]} command="" word words
${findWords(program, `\${COMP_WORDS[@]:1:COMP_CWORD-1}`, (words) => `words="${words}"`)}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _petstore petstore
`

/** Works as a file in $fpath, whose first call defines the function, and if it is sourced after compinit. */
const zshScript = (program: Command): string => `#compdef petstore
_petstore() {
  local command="" word
  local -a candidates
${findWords(program, `\${(@)words[2,CURRENT-1]}`, (words) => `candidates=(${words})`)}
  compadd -a candidates || _files
}
if [ "$funcstack[1]" = _petstore ]; then _petstore "$@"; else compdef _petstore petstore; fi
`

function fishScript(program: Command): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const linesOf = (command: Command, path: readonly string[]): string[] => {
    const names = command.commands.map((each) => each.name())
    const isHere = path.map((name) => `__fish_seen_subcommand_from ${name}`)
    const isNotDeeper = names.length > 0 ? [`not __fish_seen_subcommand_from ${names.join(' ')}`] : []
    const condition = quote([...isHere, ...isNotDeeper].join('; and ') || 'true')
    const add = (rest: string) => `complete -c petstore -n ${condition} ${rest}`
    return [
      ...command.commands.map((each) => add(`-f -a ${each.name()} -d ${quote(each.summary())}`)),
      ...command.registeredArguments.flatMap(({ argChoices }) =>
        argChoices ? add(`-f -a ${quote(argChoices.join(' '))}`) : [],
      ),
      ...command.options.map(({ long, required, description }) =>
        add(`-l ${long?.slice(2)}${required ? ' -r' : ''} -d ${quote(description)}`),
      ),
      ...command.commands.flatMap((each) => linesOf(each, [...path, each.name()])),
    ]
  }
  return `${linesOf(program, []).join('\n')}\n`
}
