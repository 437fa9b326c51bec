export {
  type ClientErrorCode,
  ConnectionError,
  PetstoreError,
  RateLimitError,
  TimeoutError,
  WebhookVerificationError,
} from './errors.ts'
export { headersOf } from './http.ts'
export { parseInt64, parseJson, toJson } from './json.ts'
export type { List, Page } from './list.ts'
export type { ChangeOptions, CreateOptions, PetstoreOptions, RequestOptions } from './options.ts'
export { Petstore } from './petstore.ts'
export type { RateLimit } from './scheduler.ts'
export type * from './schema.ts'
export type { StreamConnection, StreamDisconnection, StreamOptions } from './stream.ts'
export { Submission } from './submission.ts'
export { type VerifyOptions, verifyWebhook } from './webhook.ts'
