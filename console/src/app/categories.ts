import { signal } from '@preact/signals'
import { call, callWithHeaders, type Submission } from '../api/client.ts'
import { onEvent } from '../api/stream.ts'
import type { Category } from '../api/types.ts'
import { hasScope, onSignOut } from './session.ts'

/** The categories, shared by all screens: loaded once and kept current by events. */

/** Bounds memory and requests. Categories beyond it are shown by their id. */
const pagesMax = 20

const categories = signal<ReadonlyMap<number, Category>>(new Map())
let loading: Promise<void> | undefined

export const categoryName = (id: number): string => categories.value.get(id)?.name ?? `Category ${id}`

/** In order of name. */
export const categoryOptions = (): { value: string; label: string }[] =>
  [...categories.value.keys()]
    .map((id) => ({ value: String(id), label: categoryName(id) }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'))

/** Loads the categories unless they are loaded. Without the scope, categories have no names. */
export function loadCategories(): Promise<void> {
  if (!hasScope('categories:read')) return Promise.resolve()
  loading ??= loadAll().catch(() => {
    // Names are a convenience: the next screen tries again.
    loading = undefined
  })
  return loading
}

async function loadAll(): Promise<void> {
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const { data, nextCursor } = await callWithHeaders('listCategories', { query: { limit: 100, cursor } })
    categories.value = new Map([
      ...categories.value,
      ...data.map((category) => [category.id, category] as const),
    ])
    if (nextCursor === undefined) return
    cursor = nextCursor
  }
}

export async function createCategory(name: string, submission: Submission): Promise<Category> {
  const category = await call('createCategory', { body: { name }, submission })
  keep(category)
  return category
}

const keep = (category: Category): void => {
  categories.value = new Map(categories.value).set(category.id, category)
}

onEvent((event) => {
  if (event.type === 'category.created' || event.type === 'category.updated') keep(event.data)
  else if (event.type === 'category.deleted') {
    const rest = new Map(categories.value)
    rest.delete(event.data.id)
    categories.value = rest
  }
})

onSignOut(() => {
  categories.value = new Map()
  loading = undefined
})
