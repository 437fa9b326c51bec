import { type Node, operationsOf, resolve } from './openapi.ts'

/** A difference that breaks a caller, and the operation that has it. */
type BreakingChange = { readonly text: string; readonly operation?: Node }

/**
 * The differences between two OpenAPI documents that break a caller written for the first, as sentences.
 * A request may require less than before and a response may promise more. The opposite breaks callers.
 */
export const breakingChanges = (before: Node, after: Node): string[] =>
  findChanges(before, after).map((change) => change.text)

/**
 * The differences that no version after the first document may have. Operations that are not stable may change, if the
 * changelog names them.
 */
export function forbiddenChanges(before: Node, after: Node, changelog: string): string[] {
  const listed = listedOperations(changelog)
  return findChanges(before, after).flatMap(({ text, operation }) => {
    const stability = operation && stabilityOf(before, operation)
    if (!operation || stability === 'stable') return [text]
    if (listed.has(operation.operationId)) return []
    return [
      `${text}. The operation is ${stability}, so this is allowed if CHANGELOG.md says so: name \`${operation.operationId}\` under "Changed" or "Removed".`,
    ]
  })
}

/** What the lists "Changed" and "Removed" name in backticks. */
function listedOperations(changelog: string): ReadonlySet<string> {
  const lists = changelog.split(/^#+ /m).filter((section) => /^(?:Changed|Removed)\n/.test(section))
  return new Set(lists.flatMap((list) => [...list.matchAll(/`(\w+)`/g)].map((match) => String(match[1]))))
}

/** A webhook is as stable as the operations with its tag. */
function stabilityOf(document: Node, operation: Node): string {
  const [tag] = operation.tags
  const own = operation['x-stability']
  const others = operationsOf(document).filter((other) => other.operation.tags.includes(tag))
  return own ?? others[0]?.operation['x-stability'] ?? 'stable'
}

function findChanges(before: Node, after: Node): BreakingChange[] {
  const changes: BreakingChange[] = []
  let operation: Node | undefined
  const report = (at: string, what: string) =>
    void changes.push({ text: `${at}: ${what}`, ...(operation && { operation }) })
  const comparer = new Comparer(before, after, report)
  for (const [path, item] of entries(before.paths)) {
    for (const [method, described] of entries(item)) {
      operation = described
      const at = `${method.toUpperCase()} ${path}`
      const now = after.paths?.[path]?.[method]
      if (now === undefined) report(at, 'was removed')
      else comparer.operation(at, described, now)
    }
  }
  for (const [name, { post }] of entries(before.webhooks)) {
    operation = post as Node
    const now = after.webhooks?.[name]?.post
    if (now === undefined) report(`webhook ${name}`, 'was removed')
    else comparer.webhook(`webhook ${name}`, operation, now)
  }
  operation = undefined
  comparer.same('security', before.security, after.security)
  for (const [name, { type, scheme, in: where }] of entries(before.components?.securitySchemes)) {
    const now = after.components?.securitySchemes?.[name] ?? {}
    comparer.same(`security scheme ${name}`, [type, scheme, where], [now.type, now.scheme, now.in])
  }
  return changes
}

/** The direction of a value: a sender must not have to send more, a receiver must not get less. */
type Direction = 'request' | 'response'

const stabilities = ['experimental', 'beta', 'stable']
const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const comparedKeywords = ['type', 'enum', 'pattern', 'properties', 'required', 'items', 'default']
/** Follows from `x-stability`, which is compared too: an operation that becomes stable no longer sends it. */
const stabilityHeader = 'X-Stability'
/** Keywords for people, without a meaning for programs. */
const annotations = ['description', 'title', 'example', 'examples', 'deprecated', '$comment']

class Comparer {
  readonly #before: Node
  readonly #after: Node
  readonly #report: (at: string, what: string) => void

  constructor(before: Node, after: Node, report: (at: string, what: string) => void) {
    this.#before = before
    this.#after = after
    this.#report = report
  }

  same(at: string, before: unknown, after: unknown): void {
    if (text(before) !== text(after)) this.#report(at, `was ${text(before)} and is ${text(after)}`)
  }

  operation(at: string, before: Node, after: Node): void {
    this.same(`${at} operationId`, before.operationId, after.operationId)
    this.same(`${at} security`, before.security, after.security)
    const [was, is] = [before, after].map((operation) => stabilities.indexOf(operation['x-stability']))
    if (Number(is) < Number(was)) this.#report(at, `is no longer ${before['x-stability']}`)
    this.#parameters(at, before, after)
    this.#requestBody(`${at} body`, before.requestBody, after.requestBody)
    for (const [status, response] of entries(before.responses)) {
      const now = after.responses?.[status]
      if (now === undefined) this.#report(at, `no longer returns ${status}`)
      else this.#response(`${at} ${status}`, this.#was(response), this.#is(now))
    }
  }

  /** The service sends webhooks: for a caller the request of a webhook is what a response is elsewhere. */
  webhook(at: string, before: Node, after: Node): void {
    this.same(`${at} operationId`, before.operationId, after.operationId)
    const headersOf = ({ parameters = [] }: Node, get: (node: Node) => Node) => ({
      headers: Object.fromEntries(parameters.map(get).map((header: Node) => [header.name, header])),
    })
    this.#headers(
      at,
      headersOf(before, (node) => this.#was(node)),
      headersOf(after, (node) => this.#is(node)),
    )
    this.#content(at, before.requestBody?.content, after.requestBody?.content, 'response')
    for (const status of Object.keys(before.responses)) {
      if (after.responses?.[status] === undefined)
        this.#report(at, `no longer accepts the response ${status}`)
    }
  }

  #parameters(at: string, before: Node, after: Node): void {
    const byName = (list: Node[], get: (node: Node) => Node) =>
      new Map(list.map(get).map((parameter) => [`${parameter.in} parameter ${parameter.name}`, parameter]))
    const was = byName(before.parameters ?? [], (node) => this.#was(node))
    const is = byName(after.parameters ?? [], (node) => this.#is(node))
    for (const [name, parameter] of was) {
      const now = is.get(name)
      if (now === undefined) {
        this.#report(at, `no longer takes the ${name}`)
        continue
      }
      if (now.required && !parameter.required) this.#report(`${at} ${name}`, 'became required')
      this.same(`${at} ${name} style`, [parameter.style, parameter.explode], [now.style, now.explode])
      this.#schema(`${at} ${name}`, parameter.schema, now.schema, 'request')
    }
    for (const [name, parameter] of is) {
      if (!was.has(name) && parameter.required) this.#report(at, `now requires the ${name}`)
    }
  }

  #requestBody(at: string, before: Node | undefined, after: Node | undefined): void {
    if (before === undefined) {
      if (after?.required) this.#report(at, 'became required')
      return
    }
    if (after === undefined) {
      this.#report(at, 'is no longer taken')
      return
    }
    if (after.required && !before.required) this.#report(at, 'became required')
    this.#content(at, before.content, after.content, 'request')
  }

  #response(at: string, before: Node, after: Node): void {
    this.#content(at, before.content, after.content, 'response')
    if (before.content === undefined && after.content !== undefined) this.#report(at, 'now has a body')
    this.#headers(at, before, after)
  }

  #headers(at: string, before: Node, after: Node): void {
    for (const [name, node] of entries(before.headers)) {
      const header = this.#was(node)
      const now = after.headers?.[name] && this.#is(after.headers[name])
      if (name === stabilityHeader) continue
      if (now === undefined) {
        this.#report(at, `lost the header ${name}`)
        continue
      }
      if (header.required && !now.required) this.#report(`${at} header ${name}`, 'is no longer always sent')
      this.#schema(`${at} header ${name}`, header.schema, now.schema, 'response')
    }
  }

  #content(at: string, before: Node | undefined, after: Node | undefined, direction: Direction): void {
    for (const [type, { schema }] of entries(before)) {
      if (after?.[type] === undefined) this.#report(at, `is no longer ${type}`)
      else this.#schema(at, schema, after[type].schema, direction)
    }
  }

  #schema(at: string, before: Node, after: Node, direction: Direction): void {
    const [union, unionNow] = [this.#was(before), this.#is(after)]
    if (union.discriminator && unionNow.discriminator) {
      this.#union(at, union, unionNow, direction)
      return
    }
    const was = alternatives(this.#was(before), (node) => this.#was(node))
    const is = alternatives(this.#is(after), (node) => this.#is(node))
    const unmatched = [...is]
    for (const alternative of was) {
      const index = unmatched.findIndex(({ type }) => text(type) === text(alternative.type))
      const [match] = index === -1 ? [] : unmatched.splice(index, 1)
      if (match) this.#alternative(at, alternative, match, direction)
      else if (direction === 'request' || is.length >= was.length) {
        this.#report(at, `is no longer ${text(alternative.type)}`)
      }
    }
    if (direction === 'response') {
      for (const { type } of unmatched) this.#report(at, `may now be ${text(type)}`)
    }
  }

  /** Members by the values that distinguish them. Members may share a schema. */
  #union(at: string, before: Node, after: Node, direction: Direction): void {
    const { propertyName, mapping } = before.discriminator
    this.same(`${at} discriminator`, propertyName, after.discriminator.propertyName)
    const member = (schema: Node, value: string): Node => ({
      ...schema,
      properties: { ...schema.properties, [propertyName]: { type: 'string', enum: [value] } },
    })
    for (const [value, $ref] of Object.entries(mapping)) {
      const now = after.discriminator.mapping[value]
      if (now === undefined) this.#report(`${at}/${value}`, 'was removed')
      else {
        const [was, is] = [this.#was({ $ref }), this.#is({ $ref: now })]
        this.#schema(`${at}/${value}`, member(was, value), member(is, value), direction)
      }
    }
    if (direction === 'request' || before['x-extensible']) return
    if (after['x-extensible']) this.#report(at, 'may now be of unknown kinds')
    for (const value of Object.keys(after.discriminator.mapping)) {
      if (!(value in mapping)) this.#report(at, `may now be ${text(value)}`)
    }
  }

  #alternative(at: string, before: Node, after: Node, direction: Direction): void {
    // `inner` has to be accepted by the other side.
    const [inner, outer] = direction === 'request' ? [before, after] : [after, before]
    for (const bound of lowerBounds) {
      if ((outer[bound] ?? -Infinity) > (inner[bound] ?? -Infinity)) this.#changed(at, bound, before, after)
    }
    for (const bound of upperBounds) {
      if ((outer[bound] ?? Infinity) < (inner[bound] ?? Infinity)) this.#changed(at, bound, before, after)
    }
    const isWithin = inner.enum?.every((value: unknown) => outer.enum?.includes(value))
    if (outer.enum !== undefined && !isWithin) this.#changed(at, 'enum', before, after)
    if (outer.pattern !== undefined && outer.pattern !== inner.pattern) {
      this.#changed(at, 'pattern', before, after)
    }
    if (direction === 'request' && text(before.default) !== text(after.default)) {
      this.#changed(at, 'default', before, after)
    }
    for (const field of outer.required ?? []) {
      if (inner.required?.includes(field)) continue
      this.#report(
        `${at}/${field}`,
        direction === 'request' ? 'became required' : 'is no longer always there',
      )
    }
    for (const [field, schema] of entries(before.properties)) {
      const now = after.properties?.[field]
      if (now === undefined) this.#report(`${at}/${field}`, 'was removed')
      else this.#schema(`${at}/${field}`, schema, now, direction)
    }
    if (before.items && after.items) this.#schema(`${at}/*`, before.items, after.items, direction)
    else this.same(`${at} items`, before.items, after.items)
    // A change of an unknown keyword counts as breaking.
    const judged = [...comparedKeywords, ...lowerBounds, ...upperBounds, ...annotations]
    for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (judged.includes(keyword) || text(before[keyword]) === text(after[keyword])) continue
      this.#changed(at, keyword, before, after)
    }
  }

  #changed(at: string, keyword: string, before: Node, after: Node): void {
    this.same(`${at} ${keyword}`, before[keyword], after[keyword])
  }

  #was(node: Node): Node {
    return resolve(this.#before, node)
  }

  #is(node: Node): Node {
    return resolve(this.#after, node)
  }
}

/** The shapes that a value may have, one for each type. The values of an open enumeration are examples. */
function alternatives(schema: Node, get: (node: Node) => Node): Node[] {
  const { anyOf, oneOf, allOf, ...own } = schema
  if (allOf) return alternatives(together([...allOf.map(get), own]), get)
  const listed: Node[] = (anyOf ?? oneOf)?.flatMap((node: Node) => alternatives(get(node), get)) ?? []
  if (listed.length === 0) return [own.type].flat().map((type) => ({ ...own, type }))
  return listed.some(isAnyText) ? listed.filter((node) => node.type !== 'string' || isAnyText(node)) : listed
}

const isAnyText = (schema: Node): boolean =>
  schema.type === 'string' && Object.keys(schema).every((key) => key === 'type' || annotations.includes(key))

/** An object schema with the fields of all. */
const together = (objects: readonly Node[]): Node => ({
  ...Object.assign({}, ...objects),
  properties: Object.assign({}, ...objects.map(({ properties }) => properties)),
  required: objects.flatMap(({ required = [] }) => required),
})

const entries = (node: Node | undefined): [string, Node][] => Object.entries(node ?? {})
const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing'
