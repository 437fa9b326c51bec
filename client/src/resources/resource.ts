import type { Http } from '../http.ts'

/** The operations of one kind of resource. */
export class Resource {
  /** @internal */
  declare protected readonly http: Http

  /** @internal */
  constructor(http: Http) {
    this.http = http
  }
}
