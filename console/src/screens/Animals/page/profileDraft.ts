import { signal } from '@preact/signals'
import { headersOf, type Int64, type Profile, type ProfileChange } from '../../../../../client/src/index.ts'
import { isAbort, type RequestError, toRequestError } from '../../../app/errors.ts'
import { type Edit, keepEdits, takeEdits } from '../../../app/keptEdits.ts'
import { store } from '../../../app/store.ts'

/** A profile that is saved while it is edited. Fields that others change in the meantime are kept apart. */

export type FieldName = keyof ProfileChange

/** A pause in typing, before the change is sent. */
const pauseMs = 800
/** How often a save is tried again because someone else has changed other fields in the meantime. */
const attemptsMax = 5
/** How many values without a response are known of a field. */
const sentMax = 5

/** An id can be a bigint, which is not JSON. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part)) ?? ''
export const isSame = (a: unknown, b: unknown): boolean => textOf(a) === textOf(b)

const without = <Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): ReadonlyMap<Key, Value> =>
  new Map([...map].filter(([other]) => other !== key))

export type SaveState = 'saving' | 'saved' | 'failed' | undefined

export class ProfileDraft {
  readonly #petId: Int64
  readonly #onSaved: () => void
  readonly #saved
  readonly #edits = signal<ReadonlyMap<FieldName, Edit>>(new Map())
  readonly #errors = signal<ReadonlyMap<FieldName, string>>(new Map())
  /** The values of the request that is under way. */
  readonly #sent = signal<ReadonlyMap<FieldName, unknown>>(new Map())
  readonly #done = signal<ReadonlySet<FieldName>>(new Set())
  /** Why the last save failed, if it was not because of a field. */
  readonly failure = signal<RequestError | undefined>(undefined)
  #etag: string
  #timer: ReturnType<typeof setTimeout> | undefined
  #saving: Promise<void> | undefined

  constructor(profile: Profile, etag: string, onSaved: () => void) {
    this.#onSaved = onSaved
    this.#petId = profile.petId
    this.#saved = signal<Profile>(profile)
    this.#etag = etag
  }

  /** Takes over what was loaded, unless it is older than what was saved. */
  receive(profile: Profile, etag: string): void {
    const { updatedAt } = this.#saved.peek()
    if (this.#saving || (updatedAt !== null && (profile.updatedAt ?? '') < updatedAt)) return
    this.#saved.value = profile
    this.#etag = etag
  }

  value(name: FieldName): unknown {
    const edit = this.#edits.value.get(name)
    return edit ? edit.value : this.#saved.value[name]
  }

  /** Whether a field was changed and is not saved. */
  isEdited(name: FieldName): boolean {
    return this.#edits.value.has(name)
  }

  error(name: FieldName): string | undefined {
    return this.#errors.value.get(name)
  }

  /** What someone else has saved, while the person has changed the same field. */
  conflict(name: FieldName): { theirs: unknown } | undefined {
    const edit = this.#edits.value.get(name)
    const theirs = this.#saved.value[name]
    const isConflict = edit && ![edit.base, edit.value, ...edit.sent].some((own) => isSame(own, theirs))
    return isConflict && !this.#sent.value.has(name) ? { theirs } : undefined
  }

  /** How far the changes of some fields are. */
  state(names: readonly FieldName[]): SaveState {
    if (names.some((name) => this.#sent.value.has(name))) return 'saving'
    const isDirty = names.some((name) => this.#edits.value.has(name))
    if (isDirty && this.failure.value) return 'failed'
    return !isDirty && names.some((name) => this.#done.value.has(name)) ? 'saved' : undefined
  }

  set(name: FieldName, value: unknown): void {
    const edit = this.#edits.peek().get(name)
    const saved = this.#saved.peek()[name]
    const { base, sent } = edit ?? { base: saved, sent: [] }
    const rest = without(this.#edits.peek(), name)
    const isUnchanged = isSame(value, saved) && isSame(base, saved) && sent.length === 0
    this.#edits.value = isUnchanged ? rest : new Map([...rest, [name, { base, value, sent }]])
    this.#errors.value = without(this.#errors.peek(), name)
    this.failure.value = undefined
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.save(), pauseMs)
  }

  /** Ends a conflict with the value of the person. */
  keepMine(name: FieldName): void {
    const edit = this.#edits.peek().get(name)
    if (!edit) return
    this.#edits.value = new Map(this.#edits.peek()).set(name, { ...edit, base: this.#saved.peek()[name] })
    void this.save()
  }

  /** Ends a conflict with the value of the other person. */
  useTheirs(name: FieldName): void {
    this.#edits.value = without(this.#edits.peek(), name)
    this.#errors.value = without(this.#errors.peek(), name)
  }

  /** Sends what can be sent now, after what is under way. `isSignedOut`: the session has ended. */
  async save(isSignedOut = false): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.failure.value = undefined
    this.#saving ??= this.#sendAll(isSignedOut).finally(() => {
      this.#saving = undefined
    })
    await this.#saving
  }

  async #sendAll(isSignedOut: boolean): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax && (await this.#send(isSignedOut)); attempt++);
  }

  /** The page is being closed: it sees no response, also not to the save that is under way. */
  leave(): void {
    keepEdits(this.#petId, [...this.#edits.peek()])
    const ready = this.#ready()
    if (ready.size > 0) this.#update(ready, true).catch(() => {})
  }

  /** Takes over what was typed before the page was closed, and saves it. Returns whether there is any. */
  restore(): boolean {
    const edits = this.#edits.peek()
    const saved = this.#saved.peek()
    const restored = takeEdits(this.#petId).filter(
      ([name, { value }]) => !edits.has(name) && !isSame(value, saved[name]),
    )
    this.#edits.value = new Map([...edits, ...restored])
    void this.save()
    return restored.length > 0
  }

  /** Whether something was typed that is not saved. */
  get isDirty(): boolean {
    return this.#edits.peek().size > 0
  }

  #ready(): ReadonlyMap<FieldName, unknown> {
    const ready = [...this.#edits.peek()].filter(
      ([name]) => !this.#errors.peek().has(name) && !this.conflict(name),
    )
    return new Map(ready.map(([name, { value }]) => [name, value]))
  }

  /** Returns whether there is more to send. */
  async #send(isSignedOut: boolean): Promise<boolean> {
    const sent = this.#ready()
    if (sent.size === 0) return false
    this.#sent.value = sent
    const edits = [...this.#edits.peek()].map(([name, edit]): [FieldName, Edit] => [
      name,
      sent.has(name) ? { ...edit, sent: [...edit.sent, edit.value].slice(-sentMax) } : edit,
    ])
    this.#edits.value = new Map(edits)
    try {
      this.#take(await this.#update(sent, isSignedOut), sent)
      this.#done.value = new Set([...this.#done.peek(), ...sent.keys()])
      this.#onSaved()
      // What was typed in the meantime is sent after the next pause.
      return this.#timer === undefined
    } catch (thrown) {
      return isAbort(thrown) ? false : await this.#handle(toRequestError(thrown), sent, isSignedOut)
    } finally {
      this.#sent.value = new Map()
    }
  }

  #update(values: ReadonlyMap<FieldName, unknown>, keepalive: boolean): Promise<Profile> {
    const change = Object.fromEntries(values) as ProfileChange
    return store.pets.profile.update(this.#petId, change, { ifMatch: this.#etag, keepalive })
  }

  /** The profile after a save. What was typed in the meantime is a change of what was saved. */
  #take(profile: Profile, sent: ReadonlyMap<FieldName, unknown>): void {
    const edits = [...this.#edits.peek()].flatMap(([name, edit]): [FieldName, Edit][] => {
      if (!sent.has(name)) return [[name, edit]]
      return isSame(edit.value, sent.get(name))
        ? []
        : [[name, { base: profile[name], value: edit.value, sent: [] }]]
    })
    this.#etag = headersOf(profile).get('etag') ?? this.#etag
    this.#saved.value = profile
    this.#edits.value = new Map(edits)
  }

  async #handle(
    error: RequestError,
    sent: ReadonlyMap<FieldName, unknown>,
    isSignedOut: boolean,
  ): Promise<boolean> {
    if (error.code === 'precondition_failed') return this.#loadCurrent(isSignedOut)
    const messages = new Map(this.#errors.peek())
    for (const name of sent.keys()) {
      const message = error.detail(`/${name}`)
      if (message !== undefined) messages.set(name, message)
    }
    if (error.code === 'external_id_in_use') messages.set('externalId', error.message)
    const isExplained = messages.size > this.#errors.peek().size
    this.#errors.value = messages
    if (!isExplained) this.failure.value = error
    // The other fields are sent without those.
    return isExplained
  }

  /** After someone else was faster. Changes of other fields do not matter. */
  async #loadCurrent(keepalive: boolean): Promise<boolean> {
    try {
      const profile = await store.pets.profile.get(this.#petId, { view: 'staff' }, { keepalive })
      this.#take(profile, new Map())
      const edits = [...this.#edits.peek()].filter(([name, { value }]) => !isSame(value, profile[name]))
      this.#edits.value = new Map(edits)
      return true
    } catch (thrown) {
      if (!isAbort(thrown)) this.failure.value = toRequestError(thrown)
      return false
    }
  }
}
