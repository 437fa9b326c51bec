import { writeFileSync } from 'node:fs'
import { explainUnwritableFile } from '../database/sqlite/unwritable.ts'
import { formatDocument, openApiDocument } from '../openapi/document.ts'
import { toYaml } from '../openapi/yaml.ts'
import { createOperations } from '../operations.ts'
import { writeOutput } from './cli.ts'
import { commandConfig } from './database.ts'
import type { Call } from './interface/define.ts'

export function run({ env, options }: Call<{ readonly yaml?: boolean; readonly output?: string }>): void {
  const config = commandConfig(env)
  // Describing operations does not use the parts of a running service.
  const operations = createOperations({ config } as Parameters<typeof createOperations>[0])
  const document = openApiDocument({ operations, ...config })
  const text = options.yaml
    ? toYaml(document)
    : `${options.json ? JSON.stringify(document) : formatDocument(document)}\n`
  if (options.output === undefined) writeOutput(text)
  else writeFile(options.output, text)
}

function writeFile(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR')
      throw new Error(`${file} is a folder, not a file.`)
    throw explainUnwritableFile(error, file)
  }
}
