import type { Method, Operation } from './operation.ts'

export type Route = { operations: ReadonlyMap<Method, Operation>; params: Record<string, string> }

/** A part of a path, and the name of the parameter where it stands for one. */
type Segment = { text: string; parameter: string | undefined }
type Ending = { prefix: string; parameter: string; operations: Template['operations'] }
type Template = { path: string; segments: readonly Segment[]; operations: Map<Method, Operation> }

/**
 * Finds the operations of a path. There are a few dozen templates, so a walk through those of one length is enough; the
 * two usual kinds are found without taking the path apart.
 */
export class Router {
  readonly #byPath = new Map<string, Route>()
  readonly #byLength = new Map<number, Template[]>()
  /** Templates whose one parameter is their end, by what stands before it. */
  readonly #byPrefix = new Map<string, Ending>()
  #lastEnding: Ending = { prefix: '\0', parameter: '', operations: new Map() }

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const segments = operation.path.split('/').map(segmentOf)
      const peers = this.#byLength.get(segments.length) ?? []
      this.#byLength.set(segments.length, peers)
      const known = peers.find((peer) => peer.path === operation.path)
      const template = known ?? { path: operation.path, segments, operations: new Map() }
      template.operations.set(operation.method, operation)
      if (known) continue
      peers.push(template)
      const [prefix, parameter] = operation.path.split(/[{}]/)
      if (parameter === undefined)
        this.#byPath.set(operation.path, { operations: template.operations, params: {} })
      else if (prefix !== undefined && operation.path === `${prefix}{${parameter}}`)
        this.#byPrefix.set(prefix, { prefix, parameter, operations: template.operations })
    }
    if (this.#byPath.keys().some((path) => /\/\d[^/]*$/.test(path)))
      throw new Error('The last part of a path that begins with a digit is always a parameter.')
  }

  find(path: string): Route | undefined {
    return (
      this.#findNumbered(path) ??
      this.#byPath.get(path) ??
      this.#findByEnd(path) ??
      this.#search(path.split('/'))
    )
  }

  /** A path that ends in a number, after the same as the last one did: found without a look into a map. */
  #findNumbered(path: string): Route | undefined {
    const { prefix } = this.#lastEnding
    const end = prefix.length
    if (!path.startsWith(prefix) || !isDigit(path.charCodeAt(end)) || path.includes('/', end))
      return undefined
    return routeOf(this.#lastEnding, path.slice(end))
  }

  #findByEnd(path: string): Route | undefined {
    const end = path.lastIndexOf('/') + 1
    const found = end < path.length ? this.#byPrefix.get(path.slice(0, end)) : undefined
    if (!found) return undefined
    this.#lastEnding = found
    return routeOf(found, path.slice(end))
  }

  #search(segments: readonly string[]): Route | undefined {
    for (const template of this.#byLength.get(segments.length) ?? []) {
      const params = match(template.segments, segments)
      if (params) return { operations: template.operations, params }
    }
    return undefined
  }
}

function routeOf({ parameter, operations }: Ending, end: string): Route {
  const params: Record<string, string> = {}
  params[parameter] = decode(end)
  return { operations, params }
}

/** Not so for what is beyond the end of a text. */
const isDigit = (code: number) => code >= 48 && code <= 57

const segmentOf = (text: string): Segment => ({ text, parameter: /^\{(.*)\}$/.exec(text)?.[1] })

export function allowedMethods(route: Route): string {
  const methods: string[] = [...route.operations.keys()]
  if (methods.includes('GET')) methods.push('HEAD')
  return [...methods, 'OPTIONS'].join(', ')
}

function match(
  template: readonly Segment[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (let index = 0; index < template.length; index++) {
    const { text, parameter } = template[index] as Segment
    const segment = segments[index] as string
    if (parameter !== undefined && segment !== '') params[parameter] = decode(segment)
    else if (text !== segment) return undefined
  }
  return params
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
