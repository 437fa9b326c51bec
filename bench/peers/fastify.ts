/** Fastify with @fastify/bearer-auth, @fastify/rate-limit and JSON schemas for validation and serialization. */
import { DatabaseSync } from 'node:sqlite'
import bearerAuth from '@fastify/bearer-auth'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyRequest } from 'fastify'
import { databaseFile, type Key, type NewPet, openPets, type Status, statuses } from './pets.ts'

const pets = openPets(new DatabaseSync(databaseFile))
const status = { type: 'string', enum: statuses }
const pet = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    categoryId: { type: 'integer' },
    status: { type: 'string' },
  },
}
const listQuery = {
  type: 'object',
  properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 }, status },
}
const petParams = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer', minimum: 1 } },
}
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100 },
    categoryId: { type: 'integer' },
    status,
  },
}

const app = fastify({ bodyLimit: 65_536 })
app.decorateRequest('apiKey', null)
const keyOf = (request: FastifyRequest) => (request as unknown as { apiKey: Key | null }).apiKey

await app.register(bearerAuth, {
  keys: new Set<string>(),
  auth(secret, request) {
    const key = pets.findKey(secret)
    ;(request as unknown as { apiKey: Key | null }).apiKey = key ?? null
    return key !== undefined
  },
})
await app.register(rateLimit, {
  timeWindow: 60_000,
  max: (request) => keyOf(request)?.perMinute ?? 0,
  keyGenerator: (request) => String(keyOf(request)?.id),
})

app.get<{ Querystring: { limit: number; status?: Status } }>(
  '/v1/pets',
  { schema: { querystring: listQuery, response: { 200: { type: 'array', items: pet } } } },
  async ({ query }) => pets.list(query.limit, query.status),
)

app.get<{ Params: { id: number } }>(
  '/v1/pets/:id',
  { schema: { params: petParams, response: { 200: pet } } },
  async ({ params }, reply) => {
    const found = pets.find(params.id)
    return found ?? reply.code(404).send({ code: 'not_found', message: 'There is no such pet.' })
  },
)

app.post<{ Body: NewPet }>(
  '/v1/pets',
  { schema: { body: newPet, response: { 201: pet } } },
  async ({ body }, reply) => {
    const added = pets.create(body)
    return reply.code(201).header('Location', `/v1/pets/${added.id}`).send(added)
  },
)

console.log(await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' }))
