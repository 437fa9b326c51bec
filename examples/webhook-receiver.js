// A complete webhook receiver: it verifies each message, responds immediately, and processes each message once.
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const secret = process.env.WEBHOOK_SECRET ?? ''
if (!/^whsec_[A-Za-z0-9+/]{32,}=*$/.test(secret)) {
  console.error(
    'Set WEBHOOK_SECRET to the secret in the response of POST /webhooks: whsec_ and 44 characters.',
  )
  process.exit(1)
}
const verifier = new Webhook(secret)
const port = Number(process.env.PORT ?? 3001)
const bodyBytesMax = 256 * 1024
const processedIdsMax = 10_000
const processedIds = new Set()

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return response.writeHead(413).end()
    chunks.push(chunk)
  }
  let message
  try {
    message = verifier.verify(Buffer.concat(chunks).toString(), request.headers)
  } catch {
    return response.writeHead(401).end()
  }
  response.writeHead(204).end()

  // A message can be delivered more than once, always with the same id.
  const id = request.headers['webhook-id']
  if (processedIds.has(id)) return
  processedIds.add(id)
  if (processedIds.size > processedIdsMax) processedIds.delete(processedIds.values().next().value)
  console.log(message.type, JSON.stringify(message.data))
})

server.listen(port, '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
