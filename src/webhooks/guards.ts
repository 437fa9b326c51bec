import { ApiError } from '../api/errors.ts'
import type { Principal } from '../api/operation.ts'
import { wantsPrivate } from './webhook.ts'

export function orNotFound<T>(found: T | undefined, message?: string): T {
  if (found === undefined) throw new ApiError('webhook_not_found', message)
  return found
}

/** Events of keys are for those who manage keys, whichever way they would come by them. */
export function requireEventAccess(events: readonly string[], caller: Principal): void {
  if (wantsPrivate(events) && !caller.scopes.has('keys:manage')) {
    throw new ApiError(
      'insufficient_scope',
      'This API key lacks the scope "keys:manage", which events of keys need.',
    )
  }
}
