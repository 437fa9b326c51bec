import type { BlockList } from 'node:net'
import { addressGroup, clientAddress } from '../api/clientAddress.ts'
import { type ApiRequest, isChange } from '../api/request.ts'

/** Requests wait in separate lanes: changes that wait for a disk do not delay reads, and probes have a lane of their own. */
export type Lane = 'probe' | 'read' | 'write'

/** Who sends a request, as far as it is known before authentication. */
export type Caller = {
  readonly address: string
  /** The `Authorization` header. Without one, a line break and the address: a header cannot contain a line break. */
  readonly key: string
}

/** They must respond during an overload too. */
const probes = new Set(['/healthz', '/readyz', '/metrics'])

/** Where a request waits. */
export const laneOf = ({ method, target }: ApiRequest): Lane =>
  isChange(method) ? 'write' : probes.has(target.split('?', 1)[0] as string) ? 'probe' : 'read'

export function callerOf(request: ApiRequest, trustedProxies: BlockList): Caller {
  const forwardedFor = request.header('x-forwarded-for')
  const address = addressGroup(clientAddress(request.remoteAddress, forwardedFor, trustedProxies))
  return { address, key: request.header('authorization') || `\nnone from ${address}` }
}
