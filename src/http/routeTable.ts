import type { Method, Operation } from './operation.ts'

export type Route = { operations: ReadonlyMap<Method, Operation>; params: Record<string, string> }

type Template = { segments: readonly string[]; operations: Map<Method, Operation> }

/** Finds the operations of a path. There are a few dozen templates, so a walk through those of one length is enough. */
export class RouteTable {
  readonly #byLength = new Map<number, Template[]>()

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const segments = operation.path.split('/')
      const peers = this.#byLength.get(segments.length) ?? []
      this.#byLength.set(segments.length, peers)
      const known = peers.find((peer) => peer.segments.join('/') === operation.path)
      const template = known ?? { segments, operations: new Map() }
      if (!known) peers.push(template)
      template.operations.set(operation.method, operation)
    }
  }

  find(path: string): Route | undefined {
    const segments = path.split('/')
    for (const template of this.#byLength.get(segments.length) ?? []) {
      const params = match(template.segments, segments)
      if (params) return { operations: template.operations, params }
    }
    return undefined
  }
}

export function allowedMethods(route: Route): string {
  const methods: string[] = [...route.operations.keys()]
  if (methods.includes('GET')) methods.push('HEAD')
  return [...methods, 'OPTIONS'].join(', ')
}

function match(template: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, expected] of template.entries()) {
    const segment = segments[index] ?? ''
    if (expected.startsWith('{') && segment !== '') params[expected.slice(1, -1)] = decode(segment)
    else if (expected !== segment) return undefined
  }
  return params
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
