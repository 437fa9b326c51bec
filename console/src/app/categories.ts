import { signal } from '@preact/signals'
import { call, callWithHeaders, type Submission } from '../api/client.ts'
import { type RequestError, toRequestError } from '../api/errors.ts'
import { onEvent, onResync } from '../api/stream.ts'
import type { Category } from '../api/types.ts'
import { ChangesDuringLoad } from './changesDuringLoad.ts'
import { formatCount } from './format.ts'
import { hasScope, onSignOut } from './session.ts'

/** The categories, shared by all screens: loaded once and kept current by events. */

/** Bounds memory and requests. Categories beyond it are shown by their id. */
const pagesMax = 20
const pageSize = 100

const categories = signal<ReadonlyMap<number, Category>>(new Map())
/** Whether there are none beyond those that are loaded. */
export const areCategoriesComplete = signal(false)
/** Why the last load failed. */
export const categoriesError = signal<RequestError | undefined>(undefined)
/** Undefined is a removal. */
const changesDuringLoad = new ChangesDuringLoad<Category | undefined>()
let loading: Promise<void> | undefined
/** Grows at sign-out: what an earlier session has loaded is not shown. */
let generation = 0

export const findCategory = (id: number): Category | undefined => categories.value.get(id)
export const categoryName = (id: number): string => findCategory(id)?.name ?? `Category ${id}`

/** "1 category", "1,200 categories". */
export const categoryCount = (count: number): string =>
  `${formatCount(count)} ${count === 1 ? 'category' : 'categories'}`

/** In order of name. */
export const categoryOptions = (): { value: string; label: string }[] =>
  [...categories.value.keys()]
    .map((id) => ({ value: String(id), label: categoryName(id) }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'))

/** In order of name. Categories without a name come first, because someone has to name them. */
export const categoryList = (): Category[] =>
  [...categories.value.values()].sort((a, b) => {
    if (a.name === undefined || b.name === undefined)
      return Number(b.name === undefined) - Number(a.name === undefined)
    return a.name.localeCompare(b.name, 'en', { numeric: true })
  })

/** Loads the categories unless they are loaded. Without the scope, categories have no names. */
export function loadCategories(): Promise<void> {
  if (!hasScope('categories:read')) return Promise.resolve()
  loading ??= loadAll()
  return loading
}

export function reloadCategories(): Promise<void> {
  loading = undefined
  return loadCategories()
}

async function loadAll(): Promise<void> {
  const started = generation
  try {
    const { result, changes } = await changesDuringLoad.during(loadPages)
    if (started !== generation) return
    categories.value = new Map(result.loaded.map((category) => [category.id, category]))
    areCategoriesComplete.value = result.isComplete
    categoriesError.value = undefined
    for (const [id, category] of changes) put(id, category)
  } catch (thrown) {
    if (started !== generation) return
    // The next screen tries again.
    loading = undefined
    categoriesError.value = toRequestError(thrown)
  }
}

async function loadPages(): Promise<{ loaded: Category[]; isComplete: boolean }> {
  const loaded: Category[] = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const result = await callWithHeaders('listCategories', { query: { limit: pageSize, cursor } })
    loaded.push(...result.data)
    cursor = result.nextCursor
    if (cursor === undefined) return { loaded, isComplete: true }
  }
  return { loaded, isComplete: false }
}

export async function createCategory(name: string, submission: Submission): Promise<Category> {
  const category = await call('createCategory', { body: { name }, submission })
  keepCategory(category)
  return category
}

/** Takes over a new or changed category. */
export const keepCategory = (category: Category): void => put(category.id, category)
export const forgetCategory = (id: number): void => put(id, undefined)

function put(id: number, category: Category | undefined): void {
  changesDuringLoad.record(id, category)
  const next = new Map(categories.value)
  if (category) next.set(id, category)
  else next.delete(id)
  categories.value = next
}

onEvent((event) => {
  if (event.type === 'category.created' || event.type === 'category.updated') keepCategory(event.data)
  else if (event.type === 'category.deleted') forgetCategory(event.data.id)
})
onResync(() => {
  if (loading) void reloadCategories()
})

onSignOut(() => {
  generation++
  categories.value = new Map()
  areCategoriesComplete.value = false
  categoriesError.value = undefined
  loading = undefined
})
