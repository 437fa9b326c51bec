/** The fields of a form that the person has changed. Others are not sent, so as not to overwrite what others changed. */
export const changedFields = <Fields extends object>(
  fields: Fields,
  initial: { readonly [Name in keyof Fields]?: unknown },
): Partial<Fields> =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !isEqual(value, initial[name as keyof Fields])),
  ) as Partial<Fields>

/** Lists of scopes, event types and origins have no order. */
const isEqual = (a: unknown, b: unknown): boolean =>
  Array.isArray(a) && Array.isArray(b)
    ? a.length === b.length && a.every((item) => b.includes(item))
    : a === b
