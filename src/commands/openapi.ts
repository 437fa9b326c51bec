import { writeFileSync } from 'node:fs'
import type { ApiKeyCache } from '../auth/apiKeyCache.ts'
import { readConfig } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { EventBroadcaster } from '../events/broadcaster.ts'
import type { RateLimiter } from '../limits/rateLimiter.ts'
import { formatDocument, openApiDocument } from '../openapi/document.ts'
import { toYaml } from '../openapi/yaml.ts'
import { createOperations } from '../operations.ts'
import { parseArguments } from './cli.ts'

const usage = `petstore openapi [--yaml | --json] [--output FILE]

Prints the OpenAPI 3.1 description of the API as indented JSON. --json prints it on one line, --yaml as YAML.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = parseArguments(args, usage, {
    yaml: { type: 'boolean' },
    json: { type: 'boolean' },
    output: { type: 'string' },
  })
  const document = buildOpenApiDocument(env)
  const text = values.yaml
    ? toYaml(document)
    : `${values.json ? JSON.stringify(document) : formatDocument(document)}\n`
  if (values.output === undefined) process.stdout.write(text)
  else writeFileSync(values.output, text)
}

/** Describing operations does not call their dependencies, so placeholders are enough. */
function buildOpenApiDocument(env: NodeJS.ProcessEnv): Record<string, unknown> {
  const config = readConfig(env)
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
