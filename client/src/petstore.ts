import { type Clock, systemClock } from './clock.ts'
import { Http } from './http.ts'
import type { PetstoreOptions } from './options.ts'
import { Events, Webhooks } from './resources/changes.ts'
import { Audit, Imports, Keys, Limits, Usage } from './resources/operator.ts'
import { Pets } from './resources/pets.ts'
import { Listings } from './resources/profiles.ts'
import { Categories, Inventory, Orders, StoreProfile } from './resources/store.ts'
import type { RateLimit } from './scheduler.ts'

/** A client of the Petstore API. Create one for each API key and share it: it respects the limits of the key. */
export class Petstore {
  readonly pets: Pets
  readonly listings: Listings
  readonly orders: Orders
  readonly categories: Categories
  readonly inventory: Inventory
  /** The data of the store itself. */
  readonly profile: StoreProfile
  readonly events: Events
  readonly webhooks: Webhooks
  readonly limits: Limits
  readonly imports: Imports
  readonly keys: Keys
  readonly usage: Usage
  readonly audit: Audit
  readonly #http: Http

  constructor(options: PetstoreOptions)
  /** @internal */
  constructor(options: PetstoreOptions, clock: Partial<Clock>)
  constructor(options: PetstoreOptions, clock: Partial<Clock> = {}) {
    const http = new Http(options, { ...systemClock, ...clock })
    this.#http = http
    this.pets = new Pets(http)
    this.listings = new Listings(http)
    this.orders = new Orders(http)
    this.categories = new Categories(http)
    this.inventory = new Inventory(http)
    this.profile = new StoreProfile(http)
    this.events = new Events(http)
    this.webhooks = new Webhooks(http)
    this.limits = new Limits(http)
    this.imports = new Imports(http)
    this.keys = new Keys(http)
    this.usage = new Usage(http)
    this.audit = new Audit(http)
  }

  /** The rate limit of the key after the last response. Undefined before the first. */
  get rateLimit(): RateLimit | undefined {
    return this.#http.scheduler.rateLimit
  }
}
