import { writeOutput } from './cli.ts'
import { completionScript } from './interface/completionScripts.ts'
import type { Call } from './interface/define.ts'

export function run({ args: [shell = ''], program }: Call): void {
  writeOutput(completionScript(shell, program))
}
