import type { Method, Operation } from './operation.ts'

export type Route = { operations: ReadonlyMap<Method, Operation>; params: Record<string, string> }

/** A part of a path, and the name of the parameter where it stands for one. */
type Segment = { text: string; parameter: string | undefined }
type Template = { path: string; segments: readonly Segment[]; operations: Map<Method, Operation> }

/**
 * Finds the operations of a path. There are a few dozen templates, so a walk through those of one length is enough where
 * the path is not one of them as it is.
 */
export class RouteTable {
  readonly #byPath = new Map<string, Route>()
  readonly #byLength = new Map<number, Template[]>()

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const segments = operation.path.split('/').map(segmentOf)
      const peers = this.#byLength.get(segments.length) ?? []
      this.#byLength.set(segments.length, peers)
      const known = peers.find((peer) => peer.path === operation.path)
      const template = known ?? { path: operation.path, segments, operations: new Map() }
      if (!known) peers.push(template)
      template.operations.set(operation.method, operation)
      if (!operation.path.includes('{')) {
        this.#byPath.set(operation.path, { operations: template.operations, params: {} })
      }
    }
  }

  find(path: string): Route | undefined {
    const route = this.#byPath.get(path)
    if (route) return route
    const segments = path.split('/')
    for (const template of this.#byLength.get(segments.length) ?? []) {
      const params = match(template.segments, segments)
      if (params) return { operations: template.operations, params }
    }
    return undefined
  }
}

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
