import { writeFileSync } from 'node:fs'
import type { ApiKeyCache } from '../auth/apiKeyCache.ts'
import type { Database } from '../database/database.ts'
import { explainUnwritableFile } from '../database/sqlite/unwritable.ts'
import type { EventBroadcaster } from '../events/broadcaster.ts'
import type { RateLimiter } from '../limits/rateLimiter.ts'
import { formatDocument, openApiDocument } from '../openapi/document.ts'
import { toYaml } from '../openapi/yaml.ts'
import { createOperations } from '../operations.ts'
import { writeOutput } from './cli.ts'
import { commandConfig } from './database.ts'
import type { Call } from './interface/define.ts'

type Options = { readonly yaml?: boolean; readonly output?: string }

export function run({ env, options }: Call<Options>): void {
  const document = buildOpenApiDocument(env)
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

/** Describing operations does not call their dependencies, so placeholders are enough. */
function buildOpenApiDocument(env: NodeJS.ProcessEnv): Record<string, unknown> {
  const config = commandConfig(env)
  const unused = {} as Database & ApiKeyCache & RateLimiter & EventBroadcaster
  const operations = createOperations({
    database: unused,
    apiKeyCache: unused,
    rateLimiter: unused,
    broadcaster: unused,
    flushUsage: async () => {},
    config,
  })
  return openApiDocument({ operations, ...config })
}
