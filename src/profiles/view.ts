import * as z from 'zod'
import { ApiError, apiErrors } from '../api/errors.ts'
import type { Context } from '../api/operation.ts'

/** The query parameter of operations that have more for staff. */
export const viewQuery = {
  view: z.enum(['staff']).optional().meta({
    description: '`staff` adds the staff fields and animals that are not listed. It requires `pets:write`.',
  }),
}

/** Whether the request is for the view of staff. Throws if the key may not see it. */
export function isStaffView({ view }: { view?: 'staff' | undefined }, { principal }: Context): boolean {
  if (view === undefined) return false
  if (principal.scopes.has('pets:write')) return true
  throw new ApiError(
    apiErrors.insufficient_scope,
    'The view of staff requires the scope "pets:write", which this API key lacks.',
  )
}
