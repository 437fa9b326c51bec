import { signal } from '@preact/signals'
import type { Category, Int64, Submission } from '../../../client/src/index.ts'
import { ChangesDuringLoad } from './changesDuringLoad.ts'
import { isAbort, type RequestError, toRequestError } from './errors.ts'
import { formatCount } from './format.ts'
import { hasScope, onSignOut } from './session.ts'
import { store } from './store.ts'
import { followEvents } from './stream.ts'

/** The categories, shared by all screens: loaded once and kept current by events. */

/** Bounds memory and requests. Categories beyond it are shown by their id. */
const categoriesMax = 2_000

const categories = signal<ReadonlyMap<Int64, Category>>(new Map())
/** Whether there are none beyond those that are loaded. */
export const areCategoriesComplete = signal(false)
/** Why the last load failed. */
export const categoriesError = signal<RequestError | undefined>(undefined)
/** Undefined is a removal. */
const changesDuringLoad = new ChangesDuringLoad<Category | undefined>()
let loading: Promise<void> | undefined

export const findCategory = (id: Int64): Category | undefined => categories.value.get(id)
export const categoryName = (id: Int64): string => findCategory(id)?.name ?? `Category ${id}`

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
  try {
    const { result, changes } = await changesDuringLoad.during(() =>
      store.categories.list().toArray({ limit: categoriesMax + 1 }),
    )
    const loaded = result.slice(0, categoriesMax)
    categories.value = new Map(loaded.map((category) => [category.id, category]))
    areCategoriesComplete.value = loaded.length === result.length
    categoriesError.value = undefined
    for (const [id, category] of changes) put(id, category)
  } catch (thrown) {
    // The session has ended.
    if (isAbort(thrown)) return
    // The next screen tries again.
    loading = undefined
    categoriesError.value = toRequestError(thrown)
  }
}

export async function createCategory(name: string, submission: Submission): Promise<Category> {
  const category = await store.categories.create({ name }, { submission })
  keepCategory(category)
  return category
}

/** Takes over a new or changed category. */
export const keepCategory = (category: Category): void => put(category.id, category)
export const forgetCategory = (id: Int64): void => put(id, undefined)

function put(id: Int64, category: Category | undefined): void {
  changesDuringLoad.record(id, category)
  const next = new Map(categories.value)
  if (category) next.set(id, category)
  else next.delete(id)
  categories.value = next
}

followEvents(
  (event) => {
    if (event.type === 'category.created' || event.type === 'category.updated') keepCategory(event.data)
    else if (event.type === 'category.deleted') forgetCategory(event.data.id)
  },
  () => {
    if (loading) void reloadCategories()
  },
)

onSignOut(() => {
  categories.value = new Map()
  areCategoriesComplete.value = false
  categoriesError.value = undefined
  loading = undefined
})
