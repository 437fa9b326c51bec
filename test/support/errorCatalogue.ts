import type { ErrorDefinition } from '../../src/api/errors.ts'
import { sources } from './sources.ts'

/** Every error that src/ defines. */
const definitions: readonly ErrorDefinition[] = (
  await Promise.all(
    sources.flatMap(({ path, text }) =>
      [...text.matchAll(/^export const (\w+Errors) = defineErrors\(/gm)].map(async ([, name = '']) => {
        const module = await import(`../../src/${path}`)
        return Object.values<ErrorDefinition>(module[name])
      }),
    ),
  )
).flat()

export const errorCatalogue: ReadonlyMap<string, ErrorDefinition> = new Map(
  definitions.map((error) => [error.code, error]),
)
if (errorCatalogue.size !== definitions.length) throw new Error('An error code is defined twice.')
