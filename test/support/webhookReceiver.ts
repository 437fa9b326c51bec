import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { eventually } from './eventually.ts'
import type { TestService } from './service.ts'

/** The setting that lets webhooks reach the receivers of a test. */
export const loopbackAllowed = { PETSTORE_WEBHOOK_ALLOW: '127.0.0.0/8' }

export type ReceivedMessage = {
  headers: IncomingHttpHeaders
  path: string
  body: string
  /** The same for every attempt of one message. */
  id: string
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape.
  data: any
}

/** A status, or what the endpoint does instead of a response. */
type Reply = number | { act(response: ServerResponse): void }

export type WebhookReceiver = {
  readonly url: string
  readonly received: ReceivedMessage[]
  /** How many connections were opened. */
  readonly connections: () => number
  /** The response to the next messages. */
  reply: Reply | ((message: ReceivedMessage) => Reply)
  /** Waits until this many messages have arrived in total and returns the last. */
  until(count: number, boundMs?: number): Promise<ReceivedMessage>
  stop(): Promise<void>
}

/** Sends no response until the connection is closed. */
export const hang: Reply = { act() {} }

/** A webhook endpoint on a free port of this machine. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedMessage[] = []
  let connections = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return // The sender closed the connection before the end: nothing was received.
    }
    const body = Buffer.concat(chunks).toString()
    const { type, data } = JSON.parse(body)
    const id = String(request.headers['webhook-id'])
    const message = { headers: request.headers, path: request.url ?? '', body, id, type, data }
    received.push(message)
    const reply = typeof receiver.reply === 'function' ? receiver.reply(message) : receiver.reply
    if (typeof reply === 'number') response.writeHead(reply).end()
    else reply.act(response)
  })
  server.on('connection', () => {
    connections++
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    connections: () => connections,
    reply: 204,
    async until(count, boundMs) {
      await eventually(`${count} messages`, () => received.length >= count, boundMs)
      return received[count - 1] as ReceivedMessage
    },
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return receiver
}

export const isSignedWith = (secret: string, { body, headers }: ReceivedMessage): boolean => {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

type Registered = { id: number; url: string; secret: string }

/** Registers an endpoint as the operator does. */
export async function registerWebhook(
  service: Pick<TestService, 'request' | 'operatorKey'>,
  url: string,
  events: readonly string[] = ['pet.created'],
): Promise<Registered> {
  const { status, json, text } = await service.request('POST', '/v1/webhooks', {
    key: service.operatorKey,
    body: { url, events },
  })
  if (status !== 201) throw new Error(`No webhook was registered: ${text}`)
  return json
}
