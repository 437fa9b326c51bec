import type { Json } from './jsonSchema.ts'

/** The named parts of the document. */
export type Components = {
  readonly schemas: Json
  readonly responses: Record<string, Json>
  readonly parameters: Json
  readonly headers: Json
  readonly examples: Json
}

/** Moves parameters and headers that are written out more than once to the components, and refers to them there. */
export function extractSharedComponents(operations: readonly Json[], components: Components): void {
  const responses = [
    ...operations.flatMap((operation) => Object.values(operation.responses as Record<string, Json>)),
    ...Object.values(components.responses),
  ].filter((response) => response.headers !== undefined)

  const shareHeader = sharing(
    'headers',
    components.headers,
    responses.flatMap(({ headers }) => Object.values(headers as Record<string, Json>)),
  )
  for (const response of responses) {
    const named = Object.entries(response.headers as Record<string, Json>)
    response.headers = Object.fromEntries(named.map(([name, header]) => [name, shareHeader(name, header)]))
  }

  const parametersOf = (operation: Json) => operation.parameters as Json[]
  const shareParameter = sharing('parameters', components.parameters, operations.flatMap(parametersOf))
  for (const operation of operations) {
    operation.parameters = parametersOf(operation).map((parameter) =>
      shareParameter(componentName(parameter), parameter),
    )
  }
}

/** Of different parts with the same name, the second is numbered 2 and so on. */
function sharing(section: string, shared: Json, parts: readonly Json[]) {
  const text = (part: unknown) => JSON.stringify(part)
  const uses = Map.groupBy(parts, text)
  return (name: string, part: Json): Json => {
    if ((uses.get(text(part)) ?? []).length < 2) return part
    let free = name
    for (let number = 2; free in shared && text(shared[free]) !== text(part); number++)
      free = `${name}-${number}`
    shared[free] = part
    return { $ref: `#/components/${section}/${free}` }
  }
}

/** Headers are known by their own names; a generator makes a type of the others, such as `PetId`. */
const componentName = ({ name, in: where }: Json): string =>
  where === 'header' ? String(name) : String(name).replace(/^[a-z]/, (letter) => letter.toUpperCase())
