import { type List, listOf } from '../list.ts'
import type { ChangeOptions, CreateOptions, RequestOptions } from '../options.ts'
import type {
  Delivery,
  Event,
  Int64,
  NewWebhook,
  Operations,
  SecretRotation,
  Webhook,
  WebhookChange,
  WebhookWithSecret,
} from '../schema.ts'
import { type StreamOptions, streamEvents } from '../stream.ts'
import { Resource } from './resource.ts'

const eventsPerPage = 1_000

/** Experimental: this part of the API can still change. */
export class Events extends Resource {
  /** Events, oldest first and without gaps, up to the newest one. */
  list(query: Operations['listEvents']['query'] = {}, options?: RequestOptions): List<Event> {
    return listOf(this.http, 'listEvents', { query }, options, eventsPerPage)
  }

  /**
   * Events as they occur. A lost connection is resumed after the last event: none is missing and none is repeated. Ends
   * when the loop is left or the signal is aborted.
   */
  stream(query: StreamOptions = {}, options?: RequestOptions): AsyncGenerator<Event, void, undefined> {
    return streamEvents(this.http, { ...query, ...options })
  }
}

/** Experimental: this part of the API can still change. */
export class Webhooks extends Resource {
  /** Webhooks, newest first. */
  list(query: Operations['listWebhooks']['query'] = {}, options?: RequestOptions): List<Webhook> {
    return listOf(this.http, 'listWebhooks', { query }, options)
  }

  get(webhookId: Int64, options?: RequestOptions): Promise<Webhook> {
    return this.http.call('getWebhook', { params: { webhookId } }, options)
  }

  /** Registers a webhook. Its secret is shown only here. */
  create(webhook: NewWebhook, options?: CreateOptions): Promise<WebhookWithSecret> {
    return this.http.call('createWebhook', { body: webhook }, options)
  }

  update(webhookId: Int64, change: WebhookChange, options?: ChangeOptions): Promise<Webhook> {
    return this.http.call('updateWebhook', { params: { webhookId }, body: change }, options)
  }

  delete(webhookId: Int64, options?: ChangeOptions): Promise<void> {
    return this.http.call('deleteWebhook', { params: { webhookId } }, options)
  }

  /** Replaces the secret. Messages have two signatures until the overlap ends. */
  rotateSecret(
    webhookId: Int64,
    rotation: SecretRotation = {},
    options?: CreateOptions & ChangeOptions,
  ): Promise<WebhookWithSecret> {
    return this.http.call('rotateWebhookSecret', { params: { webhookId }, body: rotation }, options)
  }

  /** Sends a test message. */
  test(webhookId: Int64, options?: CreateOptions): Promise<Delivery> {
    return this.http.call('testWebhook', { params: { webhookId } }, options)
  }

  /** Deliveries, newest first. */
  deliveries(
    webhookId: Int64,
    query: Operations['listDeliveries']['query'] = {},
    options?: RequestOptions,
  ): List<Delivery> {
    return listOf(this.http, 'listDeliveries', { params: { webhookId }, query }, options)
  }

  retryDelivery(webhookId: Int64, deliveryId: Int64, options?: CreateOptions): Promise<Delivery> {
    return this.http.call('retryDelivery', { params: { webhookId, deliveryId } }, options)
  }
}
