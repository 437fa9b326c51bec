import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

type Instruction = { name: string; text: string }

/** What one FROM begins. */
export type Stage = { image: string; name: string | undefined; instructions: readonly Instruction[] }

/** Removes comments, and joins the lines of an instruction. */
function instructionsOf(text: string): Instruction[] {
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, '')
  return [...lines.matchAll(/^(\w+) +(.*)$/gm)].map(([, name = '', rest = '']) => ({ name, text: rest }))
}

/** The stages of the Dockerfile. Its arguments have their default values. */
export function readDockerfile(): Stage[] {
  const stages: (Stage & { instructions: Instruction[] })[] = []
  const values = new Map<string, string>()
  for (const { name, text } of instructionsOf(readFileSync(`${root}Dockerfile`, 'utf8'))) {
    // A RUN gets its variables from the shell.
    const filled = name === 'RUN' ? text : text.replaceAll(/\$\{(\w+)\}/g, (_, key) => defaultOf(values, key))
    const [first = '', as, stageName] = filled.split(' ')
    if (name === 'ARG') {
      const [key = '', value = ''] = filled.split('=')
      values.set(key, value)
    } else if (name === 'FROM') {
      if (as !== undefined && as !== 'AS') throw new Error(`This FROM is not understood: ${filled}`)
      stages.push({ image: first, name: stageName, instructions: [] })
    } else stages.at(-1)?.instructions.push({ name, text: filled })
  }
  return stages
}

function defaultOf(values: ReadonlyMap<string, string>, key: string): string {
  const value = values.get(key)
  if (value === undefined) throw new Error(`The Dockerfile uses \${${key}} before its ARG.`)
  return value
}

/** The last stage, which is the image. */
export function imageStage(): Stage {
  const stage = readDockerfile().at(-1)
  if (!stage) throw new Error('The Dockerfile has no FROM.')
  return stage
}

/** The instructions of a stage with this name. */
export const textsOf = (stage: Stage, name: string): string[] =>
  stage.instructions.filter((instruction) => instruction.name === name).map(({ text }) => text)

/** An instruction in exec form, such as CMD: the program and its arguments. */
export function commandOf(stage: Stage, name: string): string[] {
  const text = textsOf(stage, name).at(-1) ?? ''
  return JSON.parse(text.slice(text.indexOf('[')))
}

/** The variables of ENV, or of LABEL. */
export const variablesOf = (stage: Stage, name: 'ENV' | 'LABEL'): Record<string, string> =>
  Object.fromEntries(
    textsOf(stage, name).flatMap((text) =>
      [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, key, quoted, plain]) => [
        key,
        quoted ?? plain,
      ]),
    ),
  )
