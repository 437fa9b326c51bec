import { signal } from '@preact/signals'
import type { Import, Operations } from '../../../../client/src/index.ts'
import { isAbort, type RequestError, toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'

type Query = NonNullable<Operations['createImport']['query']>

/** How a file is read. */
export type Settings = {
  readonly createCategories: boolean
  readonly dateOrder: NonNullable<Query['dateOrder']> | ''
  readonly currency: string
  readonly missing: NonNullable<Query['missing']>
  readonly force: boolean
  /** The fields that the person has chosen, by heading. An empty text ignores the column. */
  readonly columns: Readonly<Record<string, string>>
}

const defaults: Settings = {
  ...{ createCategories: true, dateOrder: '', currency: '', missing: 'keep', force: false, columns: {} },
}

function queryOf({ createCategories, dateOrder, currency, missing, force, columns }: Settings): Query {
  const map = Object.entries(columns).map(([heading, field]) => `${heading}=${field}`)
  return {
    createCategories: createCategories ? 'true' : 'false',
    dateOrder: dateOrder || undefined,
    currency: currency.trim() || undefined,
    missing,
    force: force ? 'true' : undefined,
    map: map.length > 0 ? map : undefined,
  }
}

/** One import at a time, from the choice of a file to the request to apply it. */
export class ImportModel {
  readonly settings = signal(defaults)
  /** What was checked last. It stays while the file is checked again. */
  readonly preview = signal<Import | undefined>(undefined)
  readonly isChecking = signal(false)
  /** Why the last check has failed. */
  readonly error = signal<RequestError | undefined>(undefined)
  /** Another import that must end first. */
  readonly other = signal<Import | undefined>(undefined)
  /** The import that is or was applied. */
  readonly startedId = signal<string | undefined>(undefined)
  readonly file = signal<File | undefined>(undefined)
  /** The import of this screen that is not applied. Those of others are not erased without a question. */
  #readyId: string | undefined
  /** The file or the settings have changed since the last check began. */
  #mustCheck = false
  readonly #ending = new AbortController()

  /** Continues with an import that is not finished, for example after the page was loaded again. */
  async open(): Promise<void> {
    const { signal } = this.#ending
    try {
      const unfinished = (await store.imports.list({ signal })).find(({ state }) => state !== 'applied')
      // The person may have chosen a file since.
      if (unfinished && this.file.value === undefined) await this.show(unfinished)
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  async show({ id, state }: Import): Promise<void> {
    const { signal } = this.#ending
    this.file.value = undefined
    this.error.value = undefined
    this.other.value = undefined
    if (state !== 'ready') {
      this.startedId.value = id
      return
    }
    const found = await store.imports.get(id, { signal })
    if (this.file.value === undefined) this.preview.value = found
  }

  choose(file: File): Promise<void> {
    this.file.value = file
    this.preview.value = undefined
    this.startedId.value = undefined
    return this.change({ columns: {} })
  }

  /** Checks the file again with other settings. */
  change(settings: Partial<Settings>): Promise<void> {
    this.settings.value = { ...this.settings.value, ...settings }
    return this.check()
  }

  async check(): Promise<void> {
    this.#mustCheck = true
    if (this.isChecking.value) return
    this.isChecking.value = true
    while (this.#mustCheck && !this.#ending.signal.aborted) {
      this.#mustCheck = false
      await this.#checkOnce()
    }
    this.isChecking.value = false
  }

  async #checkOnce(): Promise<void> {
    const file = this.file.value
    if (!file) return
    const { signal } = this.#ending
    this.error.value = undefined
    this.other.value = undefined
    try {
      await this.#discardReady()
      const checked = await store.imports.create(file, queryOf(this.settings.value), { signal })
      this.#readyId = checked.id
      if (this.file.value === file) this.preview.value = checked
      else if (!this.#mustCheck) await this.#discardReady()
    } catch (thrown) {
      if (toRequestError(thrown).code === 'import_in_progress') await this.#findOther().catch(() => {})
      this.#fail(thrown)
    }
  }

  async #findOther(): Promise<void> {
    const imports = await store.imports.list({ signal: this.#ending.signal })
    this.other.value = imports.find(({ state }) => state !== 'applied')
  }

  async discardOther(): Promise<void> {
    if (this.other.value) await store.imports.delete(this.other.value.id)
    await this.check()
  }

  async apply(): Promise<void> {
    const id = this.preview.value?.id
    if (id === undefined) return
    await store.imports.apply(id)
    this.#readyId = undefined
    this.startedId.value = id
  }

  /** Erases the import that is shown, and begins again. */
  async discard(): Promise<void> {
    if (this.preview.value) this.#readyId = this.preview.value.id
    await this.reset()
  }

  /** Begins again, without a file. */
  async reset(): Promise<void> {
    this.file.value = undefined
    this.preview.value = undefined
    this.startedId.value = undefined
    this.error.value = undefined
    await this.#discardReady()
  }

  async #discardReady(): Promise<void> {
    const id = this.#readyId
    this.#readyId = undefined
    // It has expired, or is erased in an hour.
    if (id !== undefined) await store.imports.delete(id, { keepalive: true }).catch(() => {})
  }

  #fail(thrown: unknown): void {
    if (!isAbort(thrown)) this.error.value = toRequestError(thrown)
  }

  /** The person leaves the screen. What is not applied is erased, and what is being applied goes on. */
  close(): void {
    this.#ending.abort()
    void this.#discardReady()
  }
}
