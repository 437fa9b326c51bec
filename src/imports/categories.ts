import type { Category } from '../categories/category.ts'
import { createCategory, findNamedCategories } from '../categories/queries.ts'
import type { Db, Trx } from '../database/db.ts'
import { isId, stem, usualKind } from './values/simplify.ts'

/** The ids of categories by what a file calls them: an id, or a name in any case, singular or plural. */
export type CategoryIds = ReadonlyMap<string, bigint>

export type CategoryMatches = {
  readonly ids: CategoryIds
  /** What names no category. Names of the same kind are next to each other. */
  readonly unknown: readonly string[]
  readonly existing: readonly string[]
}

/** A name without letters and digits has no stem. It names only itself. */
const stemOf = (name: string): string => stem(name) || name

/** Finds the categories that the texts of a file name. Without a database, there are none. */
export async function matchCategories(
  db: Db | undefined,
  texts: readonly string[],
): Promise<CategoryMatches> {
  const categories = db && texts.some((text) => !isId(text)) ? await findNamedCategories(db) : []
  return match(texts, categories)
}

function match(texts: readonly string[], categories: readonly Category[]): CategoryMatches {
  const byName = new Map<string, bigint>()
  // The first one with a name counts, and an exact name before others.
  for (const { id, name = '' } of categories.toReversed()) byName.set(stemOf(name), id)
  for (const { id, name = '' } of categories.toReversed()) byName.set(name, id)
  const idOf = (text: string): bigint | undefined =>
    isId(text)
      ? BigInt(text)
      : (byName.get(text) ?? byName.get(stemOf(text)) ?? byName.get(stemOf(usualKind(text) ?? text)))
  const found = texts.map((text) => [text, idOf(text)] as const)
  return {
    ids: new Map(found.flatMap(([text, id]) => (id === undefined ? [] : [[text, id]]))),
    unknown: found.flatMap(([text, id]) => (id === undefined ? text : [])),
    existing: categories.flatMap(({ name }) => name ?? []),
  }
}

/** The names of the categories to add for texts that name none. The first spelling of a kind is its name. */
export function newCategories(unknown: readonly string[]): string[] {
  const names = new Map<string, string>()
  for (const text of unknown) {
    const kind = stemOf(usualKind(text) ?? text)
    if (!names.has(kind)) names.set(kind, text)
  }
  return [...names.values()]
}

/** Adds the categories that are missing, and returns the ids of all. */
export async function addCategories(trx: Trx, texts: readonly string[], now: number): Promise<CategoryIds> {
  // Two imports at the same time would add a category twice.
  await trx.lockName('imported categories')
  const { unknown } = await matchCategories(trx, texts)
  for (const name of newCategories(unknown)) await createCategory(trx, name, now)
  return (await matchCategories(trx, texts)).ids
}
