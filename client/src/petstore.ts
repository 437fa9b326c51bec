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
  declare readonly pets: Pets
  declare readonly listings: Listings
  declare readonly orders: Orders
  declare readonly categories: Categories
  declare readonly inventory: Inventory
  /** The data of the store itself. */
  declare readonly profile: StoreProfile
  declare readonly events: Events
  declare readonly webhooks: Webhooks
  declare readonly limits: Limits
  declare readonly imports: Imports
  declare readonly keys: Keys
  declare readonly usage: Usage
  declare readonly audit: Audit
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
