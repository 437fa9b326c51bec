export {
  type ClientErrorCode,
  ConnectionError,
  PetstoreError,
  RateLimitError,
  TimeoutError,
  WebhookVerificationError,
} from './errors.ts'
export {
  type ChangeOptions,
  type CreateOptions,
  headersOf,
  type PetstoreOptions,
  type RequestOptions,
} from './http.ts'
export type { List, Page } from './list.ts'
export { Petstore } from './petstore.ts'
export type { RateLimit } from './scheduler.ts'
export type * from './schema.ts'
export type { StreamOptions } from './stream.ts'
export { type VerifyOptions, verifyWebhook } from './webhook.ts'
