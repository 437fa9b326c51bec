import { deprecationLink } from './headers.ts'
import type { Json } from './jsonSchema.ts'

/** The reusable parts of the document, by name. */
export type Components = {
  readonly schemas: Json
  readonly responses: Record<string, Json>
  readonly parameters: Json
  readonly headers: Json
  readonly examples: Json
}

/** Moves parameters and headers that occur more than once to the components, and references them. */
export function extractSharedComponents(operations: readonly Json[], components: Components): void {
  const headersOf = ({ headers }: Json) => headers as Record<string, Json>
  const responses = Object.values(components.responses)
  const allHeaders = responses.flatMap((response) => Object.values(headersOf(response)))
  const shareHeader = createSharing('headers', components.headers, allHeaders)
  for (const response of responses) {
    const shared = Object.entries(headersOf(response)).map(([name, header]) => [
      name,
      shareHeader(headerName(name, header), header),
    ])
    response.headers = Object.fromEntries(shared)
  }

  const parametersOf = (operation: Json) => operation.parameters as Json[]
  const shareParameter = createSharing('parameters', components.parameters, operations.flatMap(parametersOf))
  for (const operation of operations) {
    operation.parameters = parametersOf(operation).map((parameter) =>
      shareParameter(parameterComponent(parameter), parameter),
    )
  }
}

/** Replaces repeated parts with references. If different parts have the same name, a number is appended. */
function createSharing(section: string, shared: Json, parts: readonly Json[]) {
  const text = (part: unknown) => JSON.stringify(part)
  const uses = Map.groupBy(parts, text)
  return (name: string, part: Json): Json => {
    if ((uses.get(text(part)) ?? []).length < 2) return part
    let key = name
    for (let number = 2; key in shared && text(shared[key]) !== text(part); number++)
      key = `${name}-${number}`
    shared[key] = part
    return { $ref: `#/components/${section}/${key}` }
  }
}

/** The name of a header that has another meaning elsewhere. Generators show the names of components. */
const headerName = (name: string, header: Json): string =>
  JSON.stringify(header) === JSON.stringify(deprecationLink) ? 'Deprecation-Link' : name

/**
 * Code generators make a type of a path or query parameter, such as `PetId`, so its name is capitalized. A query parameter
 * with an id is a filter, because a path parameter can have the same name.
 */
function parameterComponent({ name, in: location }: Json): string {
  if (location === 'header') return String(name)
  const capitalized = String(name).replace(/^[a-z]/, (letter) => letter.toUpperCase())
  return location === 'query' && capitalized.endsWith('Id') ? `${capitalized}Filter` : capitalized
}
