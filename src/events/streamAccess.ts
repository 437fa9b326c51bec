import { eventsScope, privateEventsScope } from './event.ts'

/** What a key allows at this moment. */
export type StreamAccess = {
  readonly scopes: ReadonlySet<string>
  /** When the key, or the secret that was sent, ends. */
  readonly endsAt: number
  /** How many streams it may have open at one instance. */
  readonly streamsMax: number
}

/** What a key allows, as the store has it now; undefined where it is not valid. */
export type FindStreamAccess = (token: string) => Promise<StreamAccess | undefined>

/** What one key allows its streams. All streams that were opened with the same secret share it. */
export class TokenAccess {
  readonly keyId: number
  readonly token: string
  #current: StreamAccess | undefined
  #sequence = 0
  #lastApplied = 0
  streams = 0

  constructor(keyId: number, token: string, current: StreamAccess) {
    this.keyId = keyId
    this.token = token
    this.#current = current
  }

  /** Reads it from the store. Of two reads at the same time the one that began later counts. */
  async refresh(find: FindStreamAccess): Promise<void> {
    const sequence = ++this.#sequence
    const found = await find(this.token)
    if (sequence < this.#lastApplied) return
    this.#lastApplied = sequence
    this.#current = found
  }

  isAllowed(now: number): boolean {
    return this.#current?.scopes.has(eventsScope) === true && now < this.#current.endsAt
  }

  get seesPrivate(): boolean {
    return this.#current?.scopes.has(privateEventsScope) === true
  }
}

/** The access of every key that has streams. It is read again when an event reports a change of the key. */
export class TokenAccessTable {
  readonly #find: FindStreamAccess
  readonly #byToken = new Map<string, TokenAccess>()

  constructor(find: FindStreamAccess) {
    this.#find = find
  }

  acquire(keyId: number, token: string, current: StreamAccess): TokenAccess {
    const shared = this.#byToken.get(token) ?? new TokenAccess(keyId, token, current)
    shared.streams++
    this.#byToken.set(token, shared)
    return shared
  }

  release(shared: TokenAccess): void {
    shared.streams--
    if (shared.streams === 0) this.#byToken.delete(shared.token)
  }

  refresh(shared: TokenAccess): Promise<void> {
    return shared.refresh(this.#find)
  }

  async refreshKeys(keyIds: ReadonlySet<number>): Promise<void> {
    for (const shared of [...this.#byToken.values()]) if (keyIds.has(shared.keyId)) await this.refresh(shared)
  }
}
