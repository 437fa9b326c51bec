import { completionScript } from './interface/completionScripts.ts'
import type { Call } from './interface/define.ts'

export function run({ args: [shell = ''], program }: Call): void {
  process.stdout.write(completionScript(shell, program))
}
